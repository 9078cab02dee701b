import BothyStore
import BothySyncService

/// Lists, the records that are shared with them, and notices.
extension PostgresTransaction {
  func lists(of users: [String]) throws -> Set<String> {
    guard !users.isEmpty else { return [] }
    var select = statement(StorageSQL.lists)
    select.bind(users)
    return texts(try read(select))
  }

  func listCounts(of users: [String], ownedBy owner: String?, limit: Int) throws -> [Int] {
    guard !users.isEmpty else { return [] }
    var select = statement(owner == nil ? StorageSQL.listCounts : StorageSQL.ownListCounts)
    select.bind(users)
    select.bind(Int64(limit))
    if let owner { select.bind(owner) }
    let rows = try read(select)
    return (0..<rows.count).map { Int(rows.int($0, 0)) }
  }

  func listOwners(of user: String, limit: Int) throws -> [(list: String, owner: String?)] {
    var select = statement(StorageSQL.listOwners)
    select.bind(user)
    select.bind(Int64(limit))
    let rows = try read(select)
    return (0..<rows.count).map { (rows.text($0, 0) ?? "", rows.text($0, 1)) }
  }

  func members(of list: String) throws -> Set<String> {
    var select = statement(StorageSQL.members)
    select.bind(list)
    return texts(try read(select))
  }

  private func texts(_ rows: PostgresResult) -> Set<String> {
    Set((0..<rows.count).compactMap { rows.text($0, 0) })
  }

  func records(sharedWith list: String, limit: Int) throws -> [RecordID] {
    var select = statement(StorageSQL.sharedRecords)
    select.bind(list)
    select.bind(Int64(limit))
    let rows = try read(select)
    return (0..<rows.count).map { RecordID(type: rows.text($0, 0) ?? "", id: rows.text($0, 1) ?? "") }
  }

  func notices(for users: [String], after position: Int64, limit: Int?) throws -> [VisibilityNotice] {
    guard !users.isEmpty else { return [] }
    var select = statement(StorageSQL.notices)
    select.bind(users)
    select.bind(position)
    select.bind(limit.map { Int64($0) })
    let rows = try read(select)
    return (0..<rows.count).map { row in
      VisibilityNotice(
        position: rows.int(row, 0), user: rows.text(row, 3) ?? "",
        record: RecordID(type: rows.text(row, 1) ?? "", id: rows.text(row, 2) ?? ""))
    }
  }

  func setMembers(_ members: Set<String>, of list: String, ownedBy owner: String?) throws {
    var delete = statement(StorageSQL.clearMembers)
    delete.bind(list)
    write(delete)
    guard !members.isEmpty else { return }
    write(StorageSQL.addMembers, members.sorted()) {
      $0.bind(list)
      $0.bind(owner)
    } bind: {
      $0.bind($1)
    }
  }

  func setLists(_ lists: Set<String>, of record: RecordID) throws {
    var delete = statement(StorageSQL.clearLists)
    delete.bind(record.type)
    delete.bind(record.id)
    write(delete)
    write(StorageSQL.addLists, lists.sorted()) {
      $0.bind(record.type)
      $0.bind(record.id)
    } bind: {
      $0.bind($1)
    }
  }

  func put(_ notices: [VisibilityNotice]) throws {
    guard let last = notices.map(\.position).max() else { return }
    var latest: [String: [RecordID: Int]] = [:]
    for (index, notice) in notices.enumerated() {
      latest[notice.user, default: [:]][notice.record] = index
    }
    let stored = notices.enumerated().filter { latest[$1.user]?[$1.record] == $0 }.map(\.element)
    write(StorageSQL.putNotices, stored) { insert, notice in
      insert.bind(notice.user)
      insert.bind(notice.position)
      insert.bind(notice.record.type)
      insert.bind(notice.record.id)
    }
    note(VisibilityPlace.lastPositions(of: stored))
    moveHead(to: last)
  }
}
