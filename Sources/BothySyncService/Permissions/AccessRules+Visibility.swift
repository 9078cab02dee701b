import BothyStore

/// The rules for reading, in terms of a storage's indexes.
extension AccessRules {
  /// Returns the filter of a viewer. `shows` decides about the records that a storage returns for it.
  func visibility(of viewer: Viewer) -> VisibilityFilter {
    let declared = (schema?.types ?? []) + [UserList.schema]
    // No index knows the readers that a condition chooses.
    let restricted = declared.filter {
      conditions[.read, $0.name] == nil && isRestricted($0.permissions?.read, viewer)
    }
    var filter = VisibilityFilter(
      restrictedTypes: Set(restricted.map(\.name)), owner: viewer.user.name,
      names: viewer.user.names, lists: viewer.lists)
    filter.fewChanges = fewHiddenChanges
    return filter
  }

  /// Returns true if a viewer can see only records that it owns, or that are shared with it.
  private func isRestricted(_ access: Permissions.Access?, _ viewer: Viewer) -> Bool {
    switch access {
    case nil, .anyone?: false
    case .authenticated?: viewer.user.name == nil
    case .owner?, .shared?, .nobody?: true
    }
  }

  /// Returns true if the schema hides records of a type from the user, by an access or by a condition.
  func hidesTypes(_ filter: VisibilityFilter) -> Bool { conditions.decideVisibility || filter.hidesTypes }

  /// Like `shows(_:to:)`, for a record whose tombstone may be forgotten. One that is forgotten was visible if every
  /// reader may see the type.
  func shows(_ record: ServerRecord?, _ id: RecordID, to viewer: Viewer) -> Bool {
    record.map { shows($0, to: viewer) } ?? allows(.read, id.type, viewer, owner: nil)
  }
}
