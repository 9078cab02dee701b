public import BothyStore

/// That a principal may have come to see a record, or to lose sight of it, by something else than a change of the
/// record: another member in a list, a name taken out of its sharing.
///
/// What is told is decided when the principal pulls: the record if it may be seen by then, else that it is out of
/// scope. A ledger keeps the last notice for each principal and record.
public struct SightNotice: Sendable, Hashable {
  /// Handed out like those of changes, from the same counter.
  public var position: Int64
  /// Who is to be told.
  public var principal: String
  /// What may have come in sight or gone out of it.
  public var record: RecordID

  /// What the server's rule makes, and ledgers of a stored row.
  public init(position: Int64, principal: String, record: RecordID) {
    self.position = position
    self.principal = principal
    self.record = record
  }
}

/// What the writes of one transaction mean for who sees what: the members of lists, which records are shared with
/// them, and notices.
///
/// A list whose members change costs a row for each of these and each record shared with it.
struct SightChange {
  let rules: AuthorityRules
  let ledger: any LedgerTransaction
  private var notices: Set<Pair> = []

  private struct Pair: Hashable {
    var principal: String
    var record: RecordID
  }

  init(_ rules: AuthorityRules, _ ledger: any LedgerTransaction) {
    self.rules = rules
    self.ledger = ledger
  }

  /// Call when the records are put. The notices get the positions after the ledger's head.
  mutating func follow(_ changes: [(before: ServerRecord?, after: ServerRecord)]) throws {
    for (before, after) in changes {
      if after.id.type == PrincipalList.typeName {
        try followMembers(before, after)
      } else {
        try followSharing(before?.sharing ?? .nobody, after)
      }
    }
    guard !notices.isEmpty else { return }
    var position = ledger.head
    let ordered = notices.sorted {
      ($0.principal, $0.record.type, $0.record.id) < ($1.principal, $1.record.type, $1.record.id)
    }
    try ledger.put(
      ordered.map { pair in
        position += 1
        return SightNotice(position: position, principal: pair.principal, record: pair.record)
      })
  }

  private mutating func followMembers(_ before: ServerRecord?, _ after: ServerRecord) throws {
    let old = try members(before)
    let new = try members(after)
    guard old != new else { return }
    try ledger.setMembers(new, of: after.id.id)
    for record in try ledger.records(sharedWith: after.id.id) where rules.hidesUnshared(record.type) {
      for principal in old.symmetricDifference(new) {
        notices.insert(Pair(principal: principal, record: record))
      }
    }
  }

  private func members(_ list: ServerRecord?) throws -> Set<String> {
    guard let list, !list.isDeleted else { return [] }
    return Set(PrincipalList.members(in: try list.fields.members()))
  }

  /// Whoever is let in hears of the record by its new position; who is shut out needs a notice.
  private mutating func followSharing(_ old: Sharing, _ after: ServerRecord) throws {
    guard old != after.sharing else { return }
    if old.lists != after.sharing.lists { try ledger.setLists(after.sharing.lists, of: after.id) }
    guard rules.hidesUnshared(after.id.type) else { return }
    let gone = old.subtracting(after.sharing)
    var principals = gone.principals
    for list in gone.lists { principals.formUnion(try ledger.members(of: list)) }
    for principal in principals { notices.insert(Pair(principal: principal, record: after.id)) }
  }
}
