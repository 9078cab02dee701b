/// Checks a condition of permissions against the schema, and collects what it depends on.
struct PermissionCheck {
  /// The names of metadata. With a `_` before it, a name is that of the metadata even if a field has it too.
  static let metadata: Set<String> = ["owner", "created", "modified", "audience"]
  static let audienceNames: Set<String> = ["audience", "_audience"]
  /// The most searches for memberships of one condition, because each reads the caller's memberships.
  private static let membershipLimit = 8

  private let type: TypeSchema
  private let schema: StoreSchema
  /// The type with the values of the caller and the audience as fields.
  private let extended: TypeSchema
  private(set) var memberships: [PermissionCondition.Membership] = []
  private(set) var names: Set<String> = []

  init(_ type: TypeSchema, _ schema: StoreSchema) {
    self.type = type
    self.schema = schema
    var extended = type
    extended.fields.append(FieldSchema(OpenValue.name, .text, optional: true))
    extended.fields.append(FieldSchema(OpenValue.groups, .json))
    for name in Self.audienceNames.sorted() where type[name] == nil {
      extended.fields.append(FieldSchema(name, .json))
    }
    self.extended = extended
  }

  /// Returns the condition with its values converted. Throws `BothyError` with the mistake and a remedy.
  mutating func checked(_ tree: ConditionTree) throws(BothyError) -> ConditionTree {
    switch tree {
    case .all, .none: return tree
    case .and(let parts): return .and(try checked(parts))
    case .or(let parts): return .or(try checked(parts))
    case .not(let part): return .not(try checked(part))
    case .relates(let field, let relation, let other):
      try check(field, relation, other)
      return tree
    case .exists(let name, let condition): return try membership(name, condition)
    case .compareNaturally: throw Self.natural
    case .compareFields(let field, _, let other):
      for name in [field, other] {
        guard name != OpenValue.name, name != OpenValue.groups else {
          throw .invalidSchema("The record's field comes first: 'team IN principal.groups'.")
        }
      }
      let checked = try tree.checked(for: type)
      for name in [field, other] {
        try note(name, of: type)
        names.insert(name)
      }
      return checked
    default:
      if case .matches = tree {
        for field in type.fields where field.isFullText { names.insert(field.name) }
      }
      if let field = tree.field, field != OpenValue.name, field != OpenValue.groups {
        try note(field, of: extended)
        names.insert(field)
      }
      return try tree.checked(for: extended)
    }
  }

  private mutating func checked(_ parts: [ConditionTree]) throws(BothyError) -> [ConditionTree] {
    var result: [ConditionTree] = []
    for part in parts { result.append(try checked(part)) }
    return result
  }

  /// Checks a relation of one of the record's fields with the caller.
  private mutating func check(
    _ field: String, _ relation: ConditionTree.Relation, _ other: String
  ) throws(BothyError) {
    if let name = OpenValue.recordField(other) {
      throw .invalidSchema("'record.' has a meaning in EXISTS only. Outside of it write '\(name)'.")
    }
    guard field != OpenValue.name, field != OpenValue.groups else {
      throw .invalidSchema("The record's field comes first: 'team IN principal.groups'.")
    }
    let kind = try note(field, of: extended)
    names.insert(field)
    let isPossible =
      switch (relation, other) {
      case (.compares(.equal), OpenValue.name), (.compares(.notEqual), OpenValue.name),
        (.isOneOf, OpenValue.groups):
        kind.isText
      case (.includes, OpenValue.name): kind.isList
      default: false
      }
    guard isPossible else {
      throw .invalidSchema(
        "'\(field) \(relation.word) \(other)' can't be decided, because \(type.name).\(field) is \(kind.phrase). "
          + "Possible: TEXT = principal.name, TEXT IN principal.groups, LIST INCLUDES principal.name.")
    }
  }

  /// Checks that a name can be used, and returns its kind.
  @discardableResult
  private func note(_ name: String, of type: TypeSchema) throws(BothyError) -> ValueKind {
    let found = try type.queryField(name)
    let place = "\(type.name).\(name)"
    switch found {
    case .field(let field) where field.isSensitive:
      throw .invalidSchema("\(place) is sensitive, and no record has its value. Use another field.")
    case .version:
      throw .invalidSchema("The version is known after the decision only. Use a field or 'modified'.")
    case .id, .container:
      if let other = type.fields.first(where: { $0.wireName == name }) {
        throw .invalidSchema(
          "'\(name)' is also the name of \(type.name).\(other.name) on the wire. Give that one another 'wire'."
        )
      }
    default: break
    }
    return found.kind
  }

  // MARK: memberships

  private mutating func membership(
    _ name: String, _ condition: ConditionTree
  ) throws(BothyError) -> ConditionTree {
    guard let member = schema[name], member.isSynced else {
      let known = schema.types.filter(\.isSynced).map(\.name).sorted().joined(separator: ", ")
      throw .invalidSchema("The schema has no synced type '\(name)'. Known: \(known).")
    }
    var parts: [ConditionTree] = []
    var found = PermissionCondition.Membership(member, condition)
    for part in condition.conjunction {
      guard case .relates(let field, let relation, let other) = part else {
        parts.append(try own(part, member))
        continue
      }
      let kind = try note(field, of: member)
      switch (relation, other) {
      case (.compares(.equal), OpenValue.name), (.isOneOf, OpenValue.groups):
        try requireIndex(field, kind, of: member)
        found.callers.append(.init(field: field, isGroup: other == OpenValue.groups))
      case (.compares(.equal), _):
        guard let link = OpenValue.recordField(other) else { throw Self.undecidable(part) }
        let mine = try note(link, of: type)
        guard kind.isLinked(to: mine) else {
          throw .invalidSchema(
            "\(name).\(field) is \(kind.phrase) and \(type.name).\(link) is \(mine.phrase). Link fields of one kind."
          )
        }
        names.insert(link)
        found.links.append(.init(field: field, name: link))
      default: throw Self.undecidable(part)
      }
    }
    guard !found.callers.isEmpty else {
      throw .invalidSchema(
        "EXISTS(\(name) WHERE …) doesn't name the caller, so each request would read all of \(name). Add "
          + "'FIELD = principal.name' or 'FIELD IN principal.groups', with an indexed field.")
    }
    found.rest = parts.count == 1 ? parts[0] : .and(parts)
    if !memberships.contains(where: { $0.id == found.id }) { memberships.append(found) }
    guard memberships.count <= Self.membershipLimit else {
      throw .invalidSchema("It has more than \(Self.membershipLimit) different EXISTS. Join some of them.")
    }
    return .exists(type: name, condition)
  }

  /// Checks a part that concerns the membership's own fields alone.
  private func own(_ part: ConditionTree, _ member: TypeSchema) throws(BothyError) -> ConditionTree {
    for leaf in part.leaves {
      switch leaf {
      case .relates, .exists: throw Self.undecidable(part)
      case .compareNaturally: throw Self.natural
      case .compareFields(let field, _, let other):
        try note(field, of: member)
        try note(other, of: member)
      default: if let field = leaf.field { try note(field, of: member) }
      }
    }
    return try part.checked(for: member)
  }

  private static var natural: BothyError {
    .invalidSchema("NATURAL has a meaning in queries only. Compare the field itself.")
  }

  private static func undecidable(_ part: ConditionTree) -> BothyError {
    .invalidSchema(
      "In EXISTS, '\(part)' can't be decided. Possible, joined by AND: FIELD = principal.name, FIELD IN "
        + "principal.groups, FIELD = record.FIELD, and conditions on fields of its own.")
  }

  private func requireIndex(
    _ name: String, _ kind: ValueKind, of member: TypeSchema
  ) throws(BothyError) {
    guard let field = member[name], kind.isText else {
      throw .invalidSchema(
        "\(member.name).\(name) can't name the caller. Use a string field of \(member.name) with an index.")
    }
    guard field.isIndexed || field.isUnique else {
      throw .invalidSchema(
        "\(member.name).\(name) has no index, and each request looks for the caller by it. Add \"indexed\": true to "
          + "the field, @Indexed in Swift.")
    }
  }
}

extension ConditionTree {
  /// The parts that are all true if the condition is.
  fileprivate var conjunction: [ConditionTree] {
    if case .and(let parts) = self { parts.flatMap(\.conjunction) } else { [self] }
  }

  /// The conditions that aren't made of others.
  fileprivate var leaves: [ConditionTree] {
    switch self {
    case .and(let parts), .or(let parts): parts.flatMap(\.leaves)
    case .not(let part): part.leaves
    default: [self]
    }
  }

  /// The field of a condition on one field.
  fileprivate var field: String? {
    switch self {
    case .compare(let field, _, _), .oneOf(let field, _), .contains(let field, _, _),
      .beginsWith(let field, _, _), .includes(let field, _), .near(let field, _, _), .inside(let field, _),
      .relates(let field, _, _):
      field
    case .all, .none, .matches, .and, .or, .not, .exists, .compareFields, .compareNaturally: nil
    }
  }
}

extension ValueKind {
  /// True if values of the kinds can be equal, and have one JSON form then.
  fileprivate func isLinked(to other: ValueKind) -> Bool {
    if isText { return other.isText }
    switch self {
    case .bool, .int, .date: return self == other
    default: return false
    }
  }
}
