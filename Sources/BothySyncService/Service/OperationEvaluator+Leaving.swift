import BothyStore

/// Leaving what others share: a user may always take its own name out of an audience, and out of a list that names it.
extension OperationEvaluator {
  /// The change of an audience that takes the user out of it. Empty for a user without a name.
  var leaving: SharingChange {
    SharingChange(remove: Audience(users: Set([viewer.user.name].compactMap { $0 })))
  }

  /// Returns true if an operation takes the user out of the members of a list, and does nothing else.
  func leavesList(_ operation: SyncOperation) -> Bool {
    operation.record.type == UserList.typeName && onlyShares(operation) && operation.secrets.isEmpty
      && operation.sharing == leaving && !leaving.isEmpty
  }

  /// Takes the user out of a list. A list that doesn't name the user counts as missing, so the answer reveals nothing of
  /// it. Only the owner gets the list.
  ///
  /// The version isn't compared, because a member doesn't know it, and leaving twice has the effect of leaving once.
  func leaveList(_ operation: SyncOperation, _ current: ServerRecord?) throws -> Decision {
    guard var list = current, !list.isDeleted, let name = viewer.user.name else { return .conflict(nil) }
    var fields = try list.fields.members()
    let members = UserList.members(in: fields)
    let others = members.filter { !$0.hasSameBytes(as: name) }
    guard others.count < members.count else { return .conflict(nil) }
    fields["members"] = .array(others.map { .string($0) })
    list.fields = FieldsDocument(fields)
    list.modified = time(operation)
    return .store(list, fieldsDiffer: rules.shows(list, to: viewer))
  }
}
