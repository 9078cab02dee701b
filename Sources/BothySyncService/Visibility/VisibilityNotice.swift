public import BothyStore

/// A notice that a user may have gained or lost the right to see a record, without a change of the record itself.
/// Causes are a new member of a list, or a name removed from its audience.
///
/// The answer is decided when the user pulls: the record if the user may see it then, or else that it is out of scope.
/// A storage keeps the last notice for each user and record.
public struct VisibilityNotice: Sendable, Hashable {
  /// The position, from the counter of changes.
  public var position: Int64
  /// The user to notify.
  public var principal: String
  /// The record that may have become visible or hidden.
  public var record: RecordID

  /// Makes a notice, for the server and its storage.
  public init(position: Int64, principal: String, record: RecordID) {
    self.position = position
    self.principal = principal
    self.record = record
  }
}

/// The effect of one transaction's writes on visibility: the members of lists, the records that are shared with them,
/// and notices.
///
/// A record that a condition shows gets a note of its former readers, which is one row.
/// A list whose members change costs a row for each of these and each record shared with it.
struct VisibilityChange {
  let rules: AccessRules
  let storage: any ServerTransaction
  private var notices: Set<Pair> = []
  private var removals: [RecordRemoval] = []

  private struct Pair: Hashable {
    var principal: String
    var record: RecordID
  }

  init(_ rules: AccessRules, _ storage: any ServerTransaction) {
    self.rules = rules
    self.storage = storage
  }

  /// Updates visibility. Call it after the records are stored. The notices get the positions after the storage's head.
  mutating func follow(_ changes: [(before: ServerRecord?, after: ServerRecord)]) throws {
    for (before, after) in changes {
      if after.id.type == UserList.typeName {
        try followMembers(before, after)
      } else {
        try followSharing(before?.sharing ?? .nobody, after)
        if let before, let removal = rules.formerSight(before, after) { removals.append(removal) }
      }
    }
    try storage.put(removals)
    guard !notices.isEmpty else { return }
    var position = storage.head
    let ordered = notices.sorted {
      ($0.principal, $0.record.type, $0.record.id) < ($1.principal, $1.record.type, $1.record.id)
    }
    try storage.put(
      ordered.map { pair in
        position += 1
        return VisibilityNotice(position: position, principal: pair.principal, record: pair.record)
      })
  }

  private mutating func followMembers(_ before: ServerRecord?, _ after: ServerRecord) throws {
    let old = try members(before)
    let new = try members(after)
    guard old != new else { return }
    try storage.setMembers(new, of: after.id.id)
    for record in try storage.records(sharedWith: after.id.id) where rules.hidesUnshared(record.type) {
      for principal in old.symmetricDifference(new) {
        notices.insert(Pair(principal: principal, record: record))
      }
    }
  }

  private func members(_ list: ServerRecord?) throws -> Set<String> {
    guard let list, !list.isDeleted else { return [] }
    return Set(UserList.members(in: try list.fields.members()))
  }

  /// Notes a change of the audience. Added users receive the record by its new position, and removed ones need a
  /// notice.
  private mutating func followSharing(_ old: Audience, _ after: ServerRecord) throws {
    guard old != after.sharing else { return }
    if old.lists != after.sharing.lists { try storage.setLists(after.sharing.lists, of: after.id) }
    guard rules.hidesUnshared(after.id.type) else { return }
    let gone = old.subtracting(after.sharing)
    var principals = gone.users
    for list in gone.lists { principals.formUnion(try storage.members(of: list)) }
    for principal in principals { notices.insert(Pair(principal: principal, record: after.id)) }
  }
}
