import BothyStore

/// The memberships of one user: the records of other types that name it, as conditions of a schema look for them.
///
/// Each search is one query by an index of the records that make users members now. A member of n projects costs n rows
/// for each request, however many memberships have ended.
struct Memberships: Sendable {
  /// The links of a search, by the ids of the records that have them.
  private struct Found: Sendable {
    var links: [RecordID: [UInt8]] = [:]
    /// The number of records with equal links.
    var counts: [[UInt8]: Int] = [:]

    mutating func set(_ link: [UInt8]?, of id: RecordID) {
      if let old = links[id], let count = counts[old] { counts[old] = count > 1 ? count - 1 : nil }
      links[id] = link
      if let link { counts[link, default: 0] += 1 }
    }
  }

  private let user: Caller
  private var found: [String: Found] = [:]

  /// Makes those of a user without any.
  init() { user = .anonymous }

  /// Reads the memberships of a user.
  init(of user: Caller, _ rules: AccessRules, in storage: any ServerSnapshot) throws {
    self.user = user
    for membership in rules.conditions.memberships {
      guard let query = membership.query(for: user) else { continue }
      var some = Found()
      let entries = rules.fieldIndexes.ranges(
        of: membership, for: user, live: storage.fieldIndexes.catalog?.live ?? [:])
      try storage.select(query, among: entries, schema: rules.schema(for: query.type)) { entry in
        let links = membership.links(entry.record, user, rules)
        some.set(links.flatMap(Self.text), of: entry.record.id)
        return true
      }
      found[membership.id] = some
    }
  }

  /// Follows a change of a record that may be a membership.
  mutating func follow(_ record: ServerRecord, _ rules: AccessRules) {
    for membership in rules.conditions.memberships where membership.type.name == record.id.type {
      let links = membership.links(record, user, rules)
      found[membership.id, default: Found()].set(links.flatMap(Self.text), of: record.id)
    }
  }

  /// Returns true if the user has a membership with these values.
  func has(_ membership: PermissionCondition.Membership, _ values: [FieldValue]) -> Bool {
    guard let text = Self.text(of: values) else { return false }
    return found[membership.id]?.counts[text] != nil
  }

  /// Returns the different links of a search, as sorted texts.
  func texts(of membership: PermissionCondition.Membership) -> [String] {
    (found[membership.id]?.counts.keys).map { $0.map { String(decoding: $0, as: UTF8.self) }.sorted() } ?? []
  }

  /// Returns the different links of a search as values of these kinds. Returns `nil` if they are more than `limit`, or
  /// if one isn't of its kind.
  func values(
    of membership: PermissionCondition.Membership, _ kinds: [ValueKind], limit: Int
  ) -> [[FieldValue]]? {
    guard let counts = found[membership.id]?.counts else { return [] }
    guard counts.count <= limit else { return nil }
    // A text that can't be read is of no kind.
    return try? counts.keys.map { text in
      let values = try JSONValue(parsing: text).arrayValue ?? []
      return try zip(values, kinds).map { try FieldValue(json: $0, kind: $1) }
    }
  }

  /// Returns the bytes of values, by which they are compared. Returns `nil` if one is missing, because a missing value
  /// equals nothing.
  private static func text(of values: [FieldValue]) -> [UInt8]? {
    if values.contains(where: \.isNull) { return nil }
    var writer = JSONWriter()
    writer.beginArray()
    for value in values { value.write(to: &writer) }
    writer.endArray()
    return writer.bytes
  }
}

extension Viewer {
  /// Follows a change of a record that may be a list or a membership.
  mutating func follow(_ record: ServerRecord, _ rules: AccessRules) {
    memberships.follow(record, rules)
    guard rules.usesSharing, record.id.type == UserList.typeName else { return }
    // A list that can't be read names no user.
    let fields = record.isDeleted ? [:] : (try? record.fields.members()) ?? [:]
    let members = Set(UserList.members(in: fields))
    if user.names.contains(where: members.hasName) {
      lists.insert(record.id.id)
    } else {
      lists.remove(record.id.id)
    }
  }
}
