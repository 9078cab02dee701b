import BothyStore

/// Lists, the records that are shared with them, and notices.
extension SQLiteServerTransaction {
  func lists(of users: [String]) throws -> Set<String> {
    try users.reduce(into: []) { lists, user in
      lists.formUnion(try texts("SELECT list FROM member WHERE space = ? AND principal = ?", user))
    }
  }

  func listCounts(of users: [String], ownedBy owner: String?, limit: Int) throws -> [Int] {
    let condition = owner == nil ? "" : "AND owner = ?4"
    let count = try PreparedStatement(
      """
      SELECT count(*) FROM (
        SELECT 1 FROM member WHERE space = ?1 AND principal = ?2 \(condition) LIMIT ?3)
      """, in: database)
    return try users.map { user in
      count.bind(space, at: 1)
      count.bind(user, at: 2)
      count.bind(Int64(limit), at: 3)
      if let owner { count.bind(owner, at: 4) }
      defer { count.reset() }
      return try count.step() ? Int(count.int(at: 0)) : 0
    }
  }

  func listOwners(of user: String, limit: Int) throws -> [(list: String, owner: String?)] {
    let select = try PreparedStatement(
      "SELECT list, owner FROM member WHERE space = ? AND principal = ? ORDER BY list LIMIT ?", in: database)
    select.bind(space, at: 1)
    select.bind(user, at: 2)
    select.bind(Int64(limit), at: 3)
    defer { select.reset() }
    var found: [(list: String, owner: String?)] = []
    while try select.step() { found.append((select.text(at: 0) ?? "", select.text(at: 1))) }
    return found
  }

  func members(of list: String) throws -> Set<String> {
    try texts("SELECT principal FROM member WHERE space = ? AND list = ?", list)
  }

  private func texts(_ sql: String, _ argument: String) throws -> Set<String> {
    let select = try PreparedStatement(sql, in: database)
    select.bind(space, at: 1)
    select.bind(argument, at: 2)
    defer { select.reset() }
    var found: Set<String> = []
    while try select.step() { if let text = select.text(at: 0) { found.insert(text) } }
    return found
  }

  func records(sharedWith list: String, limit: Int) throws -> [RecordID] {
    let select = try PreparedStatement(
      "SELECT type, id FROM shared WHERE space = ? AND list = ? LIMIT ?", in: database)
    select.bind(space, at: 1)
    select.bind(list, at: 2)
    select.bind(Int64(limit), at: 3)
    defer { select.reset() }
    var found: [RecordID] = []
    while try select.step() {
      found.append(RecordID(type: select.text(at: 0) ?? "", id: select.text(at: 1) ?? ""))
    }
    return found
  }

  func notices(for users: [String], after position: Int64, limit: Int?) throws -> [VisibilityNotice] {
    let found = try users.flatMap { try notices(for: $0, after: position, limit: limit) }
    return Array(found.sorted { $0.position < $1.position }.prefix(limit ?? .max))
  }

  private func notices(for user: String, after position: Int64, limit: Int?) throws -> [VisibilityNotice] {
    let select = try PreparedStatement(
      """
      SELECT position, type, id FROM notice WHERE space = ? AND principal = ? AND position > ?
      ORDER BY position LIMIT ?
      """, in: database)
    select.bind(space, at: 1)
    select.bind(user, at: 2)
    select.bind(position, at: 3)
    select.bind(Int64(limit ?? -1), at: 4)
    defer { select.reset() }
    var found: [VisibilityNotice] = []
    while try select.step() {
      found.append(
        VisibilityNotice(
          position: select.int(at: 0), user: user,
          record: RecordID(type: select.text(at: 1) ?? "", id: select.text(at: 2) ?? "")))
    }
    return found
  }

  func setMembers(_ members: Set<String>, of list: String, ownedBy owner: String?) throws {
    try run("DELETE FROM member WHERE space = ? AND list = ?", list)
    for member in members { try run("INSERT INTO member VALUES (?, ?, ?, ?)", member, list, owner) }
  }

  func setLists(_ lists: Set<String>, of record: RecordID) throws {
    try run("DELETE FROM shared WHERE space = ? AND type = ? AND id = ?", record.type, record.id)
    for list in lists { try run("INSERT INTO shared VALUES (?, ?, ?, ?)", list, record.type, record.id) }
  }

  func put(_ notices: [VisibilityNotice]) throws {
    guard let last = notices.map(\.position).max() else { return }
    let insert = try PreparedStatement("INSERT OR REPLACE INTO notice VALUES (?, ?, ?, ?, ?)", in: database)
    insert.bind(space, at: 1)
    for notice in notices {
      insert.bind(notice.user, at: 2)
      insert.bind(notice.position, at: 3)
      insert.bind(notice.record.type, at: 4)
      insert.bind(notice.record.id, at: 5)
      try insert.run()
    }
    try note(VisibilityPlace.lastPositions(of: notices))
    try moveHead(to: last)
  }

  /// Runs a statement whose first parameter is the space.
  private func run(_ sql: String, _ arguments: String?...) throws {
    let statement = try PreparedStatement(sql, in: database)
    statement.bind(space, at: 1)
    for (index, argument) in arguments.enumerated() { statement.bind(argument, at: Int32(index + 2)) }
    try statement.run()
  }
}
