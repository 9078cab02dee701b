import BothyStore

/// The effect of one transaction's writes on visibility: the members of lists, the records that are shared with them,
/// and notices.
///
/// Its rows are counted, one for each record and user concerned. A record whose audience changes concerns each user that
/// the audience gains or loses, and each member of a list that it gains or loses. A member that a list gains or loses is
/// concerned by each record shared with the list, and by the list itself. Records of types that hide nothing count once
/// for a list, because they are read.
///
/// A change that nothing smaller could make isn't refused, because access could never be taken away then. So a list that
/// changes alone may lose any members. If that concerns more pairs than the limit, each lost member gets a single notice
/// about all shared records, and its devices fetch those again. A record that changes alone may lose all its users and
/// any one list. Neither change has more rows than a list or an audience may have members.
struct VisibilityChange {
  private let rules: AccessRules
  private let limit: Int
  /// True if one record changes, so that the smallest part of what it takes away isn't counted.
  private let isSingle: Bool
  private var members: [(list: String, owner: String?, names: Set<String>)] = []
  /// The lists that each user gains and loses, of all owners and of each.
  private var named = ListGains()
  private var lists: [(record: RecordID, lists: Set<String>)] = []
  /// The notices of several changes. They may concern one pair for two reasons.
  private var notices: Set<Pair> = []
  /// The notices of a single change: each of the users about each of the records. They may be too many for a set.
  private var products: [(users: Set<String>, records: [RecordID])] = []
  /// The users who get one notice about all records, because single ones are too many.
  private var unsure: Set<String> = []
  private var removals: [RecordRemoval] = []
  /// The members of lists before the transaction, as far as they were read.
  private var known: [String: Set<String>] = [:]
  /// The members of the transaction's own lists after it.
  private var coming: [String: Set<String>] = [:]
  private var rows = 0

  /// The most notices that are stored by one call.
  private static let portion = 5000

  private struct Pair: Hashable {
    var user: String
    var record: RecordID
  }

  /// Computes the effect of changes. Reads the lists as they were, so call it before anything is stored.
  ///
  /// - Parameters:
  ///   - limit: the most rows. Throws `SyncServiceError` `.tooManyReaders` beyond it.
  ///   - maker: the user who makes the changes; `nil` if no device of a user does.
  init(
    of changes: [(before: ServerRecord?, after: ServerRecord)], _ rules: AccessRules,
    in storage: any ServerSnapshot, limit: Int, maker: Viewer? = nil
  ) throws {
    self.rules = rules
    self.limit = limit
    isSingle = changes.count == 1
    let changed = Set(changes.lazy.map(\.after.id))
    for (_, after) in changes where after.id.type == UserList.typeName {
      coming[after.id.id] = try Self.members(after)
    }
    for (before, after) in changes {
      if after.id.type == UserList.typeName {
        try followMembers(before, after, changed, storage)
      } else {
        try followSharing(before?.sharing ?? .nobody, after, storage)
        if let before {
          if let removal = rules.formerVisibility(before, after) { removals.append(removal) }
        } else if let maker, let removal = rules.formerVisibility(ofNew: after, madeBy: maker) {
          removals.append(removal)
        }
      }
    }
    // Imports have no limits.
    guard limit < .max else { return }
    try named.check(atMost: rules.listLimit, in: storage)
    try MembershipGains(of: changes, rules).check(atMost: rules.membershipLimit, in: storage)
  }

  /// Stores the effect. Call it after the records are stored. The notices get the positions after the storage's head.
  func store(in storage: any ServerTransaction) throws {
    for (list, owner, names) in members { try storage.setMembers(names, of: list, ownedBy: owner) }
    for (record, lists) in lists { try storage.setLists(lists, of: record) }
    try storage.put(removals)
    var position = storage.head
    var portion: [VisibilityNotice] = []
    func add(_ user: String, _ record: RecordID) throws {
      position += 1
      portion.append(VisibilityNotice(position: position, user: user, record: record))
      if portion.count == Self.portion { try flush() }
    }
    func flush() throws {
      guard !portion.isEmpty else { return }
      try storage.put(portion)
      portion.removeAll(keepingCapacity: true)
    }
    let ordered = notices.sorted {
      ($0.user, $0.record.type, $0.record.id) < ($1.user, $1.record.type, $1.record.id)
    }
    for pair in ordered { try add(pair.user, pair.record) }
    for (users, records) in products {
      for user in users.sorted() { for record in records { try add(user, record) } }
    }
    for user in unsure.sorted() { try add(user, VisibilityNotice.everyShared) }
    try flush()
  }

  /// Counts rows. Throws if they are too many.
  private mutating func spend(_ count: Int) throws {
    rows = rows.addingClamped(count)
    guard rows > limit else { return }
    throw SyncServiceError(
      .tooManyReaders,
      "The request changes who sees what in more than \(limit) rows, one for each record and user concerned "
        + "(--sharing-rows). Change fewer records or fewer members at a time. A list may lose any members if it is "
        + "alone in its request, and a record any one list.")
  }

  /// - Parameter changed: the records of the transaction. A new member receives those by their new positions.
  private mutating func followMembers(
    _ before: ServerRecord?, _ after: ServerRecord, _ changed: Set<RecordID>, _ storage: any ServerSnapshot
  ) throws {
    let old = try Self.members(before)
    let new = coming[after.id.id] ?? []
    guard old != new else { return }
    let (added, gone) = (new.subtracting(old), old.subtracting(new))
    if !isSingle { try spend(added.count + gone.count) }
    members.append((after.id.id, after.owner, new))
    named.add(added, gone, of: after.owner)
    guard !rules.typesHidingUnshared.isEmpty else { return }
    let shared = try storage.records(sharedWith: after.id.id, limit: limit.addingClamped(1))
    let hidden = shared.filter { rules.hidesUnshared($0.type) }
    if !isSingle { try spend(shared.count - hidden.count) }
    // A storage that found more than the limit may have left some out.
    let isCut = shared.count > limit
    if isSingle, !gone.isEmpty, isCut || gone.count * hidden.count > limit {
      unsure = gone
    } else {
      try note(gone, hidden, isCounted: !isSingle)
    }
    try note(added, hidden.filter { !changed.contains($0) }, isCounted: true)
    if isCut, !isSingle || !added.isEmpty { try spend(shared.count) }
  }

  private static func members(_ list: ServerRecord?) throws -> Set<String> {
    guard let list, !list.isDeleted else { return [] }
    return Set(UserList.members(in: try list.fields.members()))
  }

  /// Notes a change of the audience. Added users receive the record by its new position, and removed ones need a
  /// notice.
  private mutating func followSharing(
    _ old: Audience, _ after: ServerRecord, _ storage: any ServerSnapshot
  ) throws {
    let new = after.sharing
    guard old != new else { return }
    if old.lists != new.lists { lists.append((after.id, new.lists)) }
    if limit < .max { try countGains(new.subtracting(old), storage) }
    let gone = old.subtracting(new)
    var losers = gone.users
    let isSmallest = isSingle && gone.lists.count <= 1
    for list in gone.lists.sorted() {
      let names = try formerMembers(of: list, storage)
      if !isSmallest { try spend(max(1, names.count)) }
      losers.formUnion(names)
    }
    if !isSingle { try spend(gone.users.count) }
    guard rules.hidesUnshared(after.id.type) else { return }
    try note(losers, [after.id], isCounted: false)
  }

  /// Counts the users that a record gains. A list without members counts as one.
  private mutating func countGains(_ gained: Audience, _ storage: any ServerSnapshot) throws {
    try spend(gained.users.count)
    for list in gained.lists.sorted() {
      let names = try coming[list] ?? formerMembers(of: list, storage)
      try spend(max(1, names.count))
    }
  }

  private mutating func formerMembers(
    of list: String, _ storage: any ServerSnapshot
  ) throws -> Set<String> {
    if let names = known[list] { return names }
    let names = try storage.members(of: list)
    known[list] = names
    return names
  }

  /// Notes that each of the users gained or lost sight of each of the records.
  private mutating func note(_ users: Set<String>, _ records: [RecordID], isCounted: Bool) throws {
    if isCounted {
      // No product of two counts of values in memory overflows.
      try spend(users.count * records.count)
    }
    guard !users.isEmpty, !records.isEmpty else { return }
    if isSingle { return products.append((users, records)) }
    for user in users { for record in records { notices.insert(Pair(user: user, record: record)) } }
  }
}
