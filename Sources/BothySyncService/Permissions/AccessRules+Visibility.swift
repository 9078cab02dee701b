import BothyStore

/// The rules for reading, in terms of a storage's indexes.
extension AccessRules {
  /// Returns the filter of a viewer. `shows` decides about the records that a storage returns for it.
  func visibility(of viewer: Viewer) -> VisibilityFilter {
    let declared = (schema?.types ?? []) + [UserList.schema]
    let restricted = declared.filter { isRestricted($0.permissions?.read, viewer) }
    var filter = VisibilityFilter(
      restrictedTypes: Set(restricted.map(\.name)), owner: viewer.principal.name,
      names: viewer.principal.names, lists: viewer.lists)
    filter.fewChanges = fewHiddenChanges
    return filter
  }

  /// Returns true if a viewer can see only records that it owns, or that are shared with it.
  private func isRestricted(_ access: Permissions.Access?, _ viewer: Viewer) -> Bool {
    switch access {
    case nil, .anyone?: false
    case .authenticated?: viewer.principal.name == nil
    case .owner?, .shared?, .nobody?: true
    }
  }
}

extension VisibilityFilter {
  /// True if the schema hides records of a type from the user. Lists of other users are hidden in any case.
  var hidesTypes: Bool { restrictedTypes.contains { $0 != UserList.typeName } }
}
