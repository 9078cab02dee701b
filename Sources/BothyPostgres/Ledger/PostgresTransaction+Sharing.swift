import BothyStore
import BothySyncService

/// Lists, the records that are shared with them, and notices.
extension PostgresTransaction {
  func lists(of principal: String) throws -> Set<String> { try texts(LedgerSQL.lists, principal) }

  func members(of list: String) throws -> Set<String> { try texts(LedgerSQL.members, list) }

  private func texts(_ sql: String, _ argument: String) throws -> Set<String> {
    var select = statement(sql)
    select.bind(argument)
    let rows = try read(select)
    return Set((0..<rows.count).compactMap { rows.text($0, 0) })
  }

  func records(sharedWith list: String) throws -> [RecordID] {
    var select = statement(LedgerSQL.sharedRecords)
    select.bind(list)
    let rows = try read(select)
    return (0..<rows.count).map { RecordID(type: rows.text($0, 0) ?? "", id: rows.text($0, 1) ?? "") }
  }

  func notices(for principal: String, after position: Int64, limit: Int?) throws -> [VisibilityNotice] {
    var select = statement(LedgerSQL.notices)
    select.bind(principal)
    select.bind(position)
    select.bind(limit.map { Int64($0) })
    let rows = try read(select)
    return (0..<rows.count).map { row in
      VisibilityNotice(
        position: rows.int(row, 0), principal: principal,
        record: RecordID(type: rows.text(row, 1) ?? "", id: rows.text(row, 2) ?? ""))
    }
  }

  func setMembers(_ members: Set<String>, of list: String) throws {
    var delete = statement(LedgerSQL.clearMembers)
    delete.bind(list)
    write(delete)
    guard !members.isEmpty else { return }
    var insert = statement(LedgerSQL.addMembers)
    insert.bind(list)
    insert.bind(members.sorted())
    write(insert)
  }

  func setLists(_ lists: Set<String>, of record: RecordID) throws {
    var delete = statement(LedgerSQL.clearLists)
    delete.bind(record.type)
    delete.bind(record.id)
    write(delete)
    guard !lists.isEmpty else { return }
    var insert = statement(LedgerSQL.addLists)
    insert.bind(record.type)
    insert.bind(record.id)
    insert.bind(lists.sorted())
    write(insert)
  }

  func put(_ notices: [VisibilityNotice]) throws {
    guard let last = notices.map(\.position).max() else { return }
    var latest: [String: [RecordID: Int]] = [:]
    for (index, notice) in notices.enumerated() {
      latest[notice.principal, default: [:]][notice.record] = index
    }
    let stored = notices.enumerated().filter { latest[$1.principal]?[$1.record] == $0 }.map(\.element)
    var insert = statement(LedgerSQL.putNotices)
    insert.bind(stored.map(\.principal))
    insert.bind(stored.map(\.position))
    insert.bind(stored.map(\.record.type))
    insert.bind(stored.map(\.record.id))
    write(insert)
    moveHead(to: last)
  }
}
