/// A condition of permissions that fits its schema, for the records of one type.
package struct PermissionCondition: Sendable, Hashable {
  /// The type of the records that it is decided for.
  package let type: TypeSchema
  /// The condition, with each value converted to the kind of its field.
  package let tree: ConditionTree
  /// The memberships that it looks for.
  package let memberships: [Membership]
  /// The names of the record's fields and metadata in it, without those of the caller.
  package let names: Set<String>

  /// A search for records of another type that name the caller. Any one of them meets the condition.
  package struct Membership: Sendable, Hashable {
    /// The type of the records.
    package let type: TypeSchema
    /// The condition in `EXISTS`, as part of `tree`.
    package let condition: ConditionTree
    /// The search as text, which distinguishes it from others.
    package let id: String
    /// The fields that name the caller.
    package var callers: [CallerField] = []
    /// The fields with values of the record that it is decided for.
    package var links: [Link] = []
    /// The rest of the condition, on the membership's own fields.
    package var rest = ConditionTree.all

    init(_ type: TypeSchema, _ condition: ConditionTree) {
      self.type = type
      self.condition = condition
      id = ConditionTree.exists(type: type.name, condition).description
    }
  }

  /// A field of a membership that names the caller.
  package struct CallerField: Sendable, Hashable {
    /// The field, which has an index.
    package let field: String
    /// True if it has the name of a group.
    package let isGroup: Bool
  }

  /// A field of a membership that equals one of the record.
  package struct Link: Sendable, Hashable {
    /// The membership's field.
    package let field: String
    /// The record's field.
    package let name: String
  }

  /// Reads a condition as text. Throws `BothyError` with the mistake and a remedy.
  package init(_ text: String, of type: TypeSchema, in schema: StoreSchema) throws(BothyError) {
    guard text.utf8.count <= Permissions.longestCondition else {
      throw .invalidSchema("It has more than \(Permissions.longestCondition) bytes. Make it shorter.")
    }
    let parsed: ConditionTree
    do { parsed = try WhereParser.parse(text) } catch { throw .invalidSchema("\(error)") }
    var check = PermissionCheck(type, schema)
    tree = try check.checked(parsed)
    self.type = type
    memberships = check.memberships
    names = check.names
  }

  private init(_ tree: ConditionTree, _ type: TypeSchema) {
    self.tree = tree
    self.type = type
    (memberships, names) = ([], [])
  }

  /// Returns the condition that no record meets.
  package static func refusal(of type: TypeSchema) -> PermissionCondition { PermissionCondition(.none, type) }

  /// True if the condition depends on the caller's groups.
  package var usesGroups: Bool { description.contains(OpenValue.groups) || usesAudience }

  /// True if the condition depends on the record's audience.
  package var usesAudience: Bool { !names.isDisjoint(with: PermissionCheck.audienceNames) }

  /// The condition as text.
  package var description: String { tree.description }
}

/// A mistake in the permissions of a schema.
package struct PermissionProblem: Sendable {
  /// The number of the type in the schema.
  let type: Int
  let name: String
  let action: Permissions.Action
  let reason: String

  /// Returns the message, with the line of the document if it is known.
  package func text(line: Int? = nil) -> String {
    let place = line.map { " (line \($0))" } ?? ""
    return
      "The condition of '\(action.rawValue)' in the permissions of \(name)\(place) can't be used. \(reason)"
  }
}

extension StoreSchema {
  /// Returns the mistakes in the conditions of the permissions, in the order of the types.
  package func permissionProblems() -> [PermissionProblem] {
    types.enumerated().flatMap { index, type -> [PermissionProblem] in
      let conditions = type.permissions?.conditions ?? [:]
      return conditions.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { action, text in
        do throws(BothyError) {
          _ = try PermissionCondition(text, of: type, in: self)
          return nil
        } catch {
          return PermissionProblem(type: index, name: type.name, action: action, reason: error.message)
        }
      }
    }
  }
}
