import BothyStore

/// A condition on reading with the values of one user, in a form that a storage can decide.
extension PermissionCondition {
  /// The most links of one membership that a bound condition lists.
  static let linkLimit = 1000

  /// Returns a condition that each record meets which `allows` lets the user see, and maybe others.
  ///
  /// Each value of the user is in place of its name, and each membership is a list of its links. Relations to the
  /// audience stay as they are. What can't be bound counts as true: other conditions on the audience, full text, a
  /// membership with more than `linkLimit` links, and a membership under NOT. Pure.
  func bound(to viewer: Viewer) -> ConditionTree { bound(tree, viewer, isNegated: false) }

  /// - Parameter isNegated: true in a part that has to select fewer records, not more.
  private func bound(_ tree: ConditionTree, _ viewer: Viewer, isNegated: Bool) -> ConditionTree {
    let unknown: ConditionTree = isNegated ? .none : .all
    switch tree {
    case .all, .none: return tree
    case .and(let parts):
      let parts = parts.map { bound($0, viewer, isNegated: isNegated) }
      return parts.contains(.none) ? .none : parts.reduce(.all, &&)
    case .or(let parts):
      let parts = parts.map { bound($0, viewer, isNegated: isNegated) }
      return parts.contains(.all) ? .all : parts.reduce(.none, ||)
    case .not(let part):
      switch bound(part, viewer, isNegated: !isNegated) {
      case .all: return .none
      case .none: return .all
      case let other: return .not(other)
      }
    case .relates(let field, let relation, _):
      if isAudience(field) { return isNegated ? .none : tree }
      return Self.bound(field, relation, viewer.user)
    case .exists(let name, let condition):
      return isNegated ? .none : links(of: name, condition, viewer) ?? .all
    case .matches: return unknown
    case .compare(let field, _, _), .oneOf(let field, _), .contains(let field, _, _),
      .beginsWith(let field, _, _), .includes(let field, _):
      if isAudience(field) { return unknown }
      guard field == OpenValue.name || field == OpenValue.groups else { return tree }
      return isMet(tree, by: viewer.user) ? .all : .none
    // Permissions have no natural order.
    case .near, .inside, .compareFields, .compareNaturally: return tree
    }
  }

  /// Returns true if the name is that of the record's audience, and not of a field.
  private func isAudience(_ name: String) -> Bool {
    type[name] == nil && (name == "audience" || name == "_audience")
  }

  /// Decides a condition on the user alone.
  private func isMet(_ tree: ConditionTree, by user: Caller) -> Bool {
    tree.evaluate(type) { name in
      if name == OpenValue.name { return user.name.map { .text($0) } ?? .null }
      return .list(user.name == nil ? [] : user.groups.sorted())
    }
  }

  /// Returns a relation to the user as a comparison with its values. A user without a name equals nothing.
  private static func bound(
    _ field: String, _ relation: ConditionTree.Relation, _ user: Caller
  ) -> ConditionTree {
    guard let name = user.name else { return relation == .compares(.notEqual) ? .all : .none }
    switch relation {
    case .compares(let comparison): return .compare(field: field, comparison, .text(name))
    case .isOneOf:
      return user.groups.isEmpty
        ? .none : .oneOf(field: field, user.groups.sorted().map { .text($0) })
    case .includes: return .includes(field: field, .text(name))
    }
  }

  /// Returns the condition on the fields by which a membership of the user links records, or `nil` if its links are
  /// too many. Several links of one membership are conditions of their own, which select more than their pairs.
  private func links(of name: String, _ condition: ConditionTree, _ viewer: Viewer) -> ConditionTree? {
    guard let membership = memberships.first(where: { $0.type.name == name && $0.condition == condition })
    else { return ConditionTree.none }
    // A link that can't be read leaves the membership unbound.
    guard let kinds = try? membership.links.map({ try type.queryField($0.name).kind }),
      let values = viewer.memberships.values(of: membership, kinds, limit: Self.linkLimit)
    else { return nil }
    if values.isEmpty { return ConditionTree.none }
    return membership.links.enumerated().reduce(ConditionTree.all) { found, link in
      found && .oneOf(field: link.element.name, values.map { $0[link.offset] })
    }
  }
}

extension ConditionTree {
  /// The condition without relations to the audience, which count as true. Only for a tree that `bound(to:)` made.
  fileprivate var withoutAudience: ConditionTree {
    switch self {
    case .relates, .exists: return .all
    case .and(let parts): return parts.map(\.withoutAudience).reduce(.all, &&)
    case .or(let parts):
      let parts = parts.map(\.withoutAudience)
      return parts.contains(.all) ? .all : parts.reduce(.none, ||)
    default: return self
    }
  }
}

extension AccessRules {
  /// Returns the bound condition on reading a type. Returns `nil` if no condition decides, or if older records may have
  /// their fields under other names.
  func sight(of type: String, for viewer: Viewer) -> ConditionTree? {
    guard let condition = conditions[.read, type], aliases[type] == nil else { return nil }
    return condition.bound(to: viewer)
  }

  /// Returns a query that selects fewer of the records that the user may not see, and all others. A storage decides
  /// the added condition, by an index if it has one.
  func narrowed(_ query: AnyQuery, for viewer: Viewer) -> AnyQuery {
    guard let type = declared(query.type), let bound = sight(of: query.type, for: viewer)?.withoutAudience,
      // The query is right without a condition that doesn't fit.
      let condition = try? bound.checked(for: type)
    else { return query }
    var narrowed = query
    narrowed.filter = query.filter && condition
    return narrowed
  }
}
