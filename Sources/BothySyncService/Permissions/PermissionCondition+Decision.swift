import BothyStore

/// The decision of a condition on one record, for one user.
extension PermissionCondition {
  /// Returns true if the record meets the condition. A record that can't be read meets none. Pure.
  func allows(_ record: ServerRecord, _ viewer: Viewer, _ rules: AccessRules) -> Bool {
    let needsFields = names.contains { type[$0] != nil }
    guard
      let values = DecidedValues(record, type, viewer.user, rules, needsFields: needsFields, viewer)
    else { return false }
    return tree.evaluate(type, values.value) { name, condition in
      let membership = memberships.first { $0.type.name == name && $0.condition == condition }
      guard let membership else { return false }
      return viewer.memberships.has(membership, membership.links.map { values.value($0.name) })
    }
  }
}

extension PermissionCondition.Membership {
  /// Returns the query for the records that name a user, or `nil` if none can.
  func query(for user: Caller) -> AnyQuery? {
    guard let name = user.name else { return nil }
    var parts: [ConditionTree] = []
    for caller in callers {
      if caller.isGroup {
        guard !user.groups.isEmpty else { return nil }
        parts.append(.oneOf(field: caller.field, user.groups.sorted().map { .text($0) }))
      } else {
        parts.append(.compare(field: caller.field, .equal, .text(name)))
      }
    }
    var query = AnyQuery(type.name, where: .and(parts) && rest)
    query.isUnordered = true
    return query
  }

  /// Returns the values by which a record links the user to others. Returns `nil` if it doesn't name the user or
  /// doesn't meet the condition.
  func links(_ record: ServerRecord, _ user: Caller, _ rules: AccessRules) -> [FieldValue]? {
    guard !record.isDeleted, record.id.type == type.name,
      let values = DecidedValues(record, type, user, rules)
    else { return nil }
    for caller in callers {
      let relation = caller.isGroup ? ConditionTree.Relation.isOneOf : .compares(.equal)
      let named = ConditionTree.relates(
        field: caller.field, relation, to: caller.isGroup ? OpenValue.groups : OpenValue.name)
      guard named.evaluate(type, values.value) else { return nil }
    }
    guard rest.evaluate(type, values.value) else { return nil }
    return links.map { values.value($0.field) }
  }
}
