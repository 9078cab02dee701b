import BothyStore

/// The records that one sync leaves out because they need a record that waits for blobs.
struct BlobFollowers {
  /// The record that each of them is behind, which may be behind another.
  private var leaders: [RecordID: RecordID] = [:]
  private var followers: [RecordID: Set<RecordID>] = [:]

  mutating func add(_ record: RecordID, behind leader: RecordID) {
    remove(record)
    leaders[record] = leader
    followers[leader, default: []].insert(record)
  }

  private mutating func remove(_ record: RecordID) {
    if let leader = leaders.removeValue(forKey: record) { followers[leader]?.remove(record) }
  }

  /// Ends the wait of all records behind one, whose own wait has ended, and returns them.
  mutating func end(_ record: RecordID) -> Set<RecordID> {
    guard !leaders.isEmpty else { return [] }
    remove(record)
    var ended: Set<RecordID> = []
    var open = [record]
    while let leader = open.popLast() {
      for follower in followers.removeValue(forKey: leader) ?? [] {
        leaders[follower] = nil
        if ended.insert(follower).inserted { open.append(follower) }
      }
    }
    return ended
  }

  /// Returns the blocked changes of an exchange, and those that it left out.
  func blocked(beside known: [SyncReport.Blocked]) -> [SyncReport.Blocked] {
    var others = leaders
    for each in known { others[each.record] = nil }
    let left = others.map { SyncReport.Blocked(record: $0.key, by: $0.value) }
    return known + left.sorted { ($0.record.type, $0.record.id) < ($1.record.type, $1.record.id) }
  }
}
