internal import BothyStore
internal import Foundation
internal import GRDB

/// Small bodies that share a page, before it is written.
struct GatheredPage {
  var number: Int64
  /// The size of the bodies that are still named, and one more byte for each.
  var live: Int64 = 0
  /// The rows of the bodies, in the order of their bytes.
  var bodies: [Int64] = []
  var data = Data()
}

/// The bodies that entries name. Equal bytes are stored once, for all keys and sources.
///
/// The entries themselves are the references: a body ends with the last entry that names it. No count of them can be
/// wrong after a crash.
extension IndexTransaction {
  /// The largest body that shares a page with others.
  static let largestSmall = 8 << 10
  /// The size of a whole page, in which a look-up finds its bytes about as fast as in a row of their own.
  static let pageSize: Int64 = 32 << 10
  /// The size below which the bodies of a page move to another one.
  static let halfPage: Int64 = 16 << 10

  /// Finds the body with equal bytes. The sign before `checksum` keeps the index in use.
  func knownBody(_ data: Data, _ checksum: UInt64) throws -> (row: Int64, cost: Int64, isFile: Bool)? {
    let find = try PreparedStatement(
      """
      SELECT id, size, page, place FROM body
      WHERE checksum & 32767 = ?1 & 32767 AND +checksum = ?1 AND size = ?2
      """, in: database)
    find.bind(Int64(bitPattern: checksum), at: 1)
    find.bind(Int64(data.count), at: 2)
    var found: [(row: Int64, page: Int64?, place: Int)] = []
    while try find.step() {
      found.append((find.int(at: 0), find.optionalInt(at: 2), Int(find.int(at: 3))))
    }
    find.reset()
    for one in found where try holds(one.page, one.place, data, checksum) {
      let isFile = one.page == nil
      return (one.row, EntryRow.cost(Int64(data.count), isFile: isFile), isFile)
    }
    return nil
  }

  /// True if the bytes are at a place of a page, or in a file.
  private func holds(_ page: Int64?, _ place: Int, _ data: Data, _ checksum: UInt64) throws -> Bool {
    guard let page else {
      let name = BodyName(checksum: checksum, size: Int64(data.count))
      return try files.body(name) == data
    }
    return try withPage(page) { bytes in
      guard let bytes = bytes.part(at: place, count: data.count) else { return false }
      return data.withUnsafeBytes { data in
        guard let one = data.baseAddress, let other = bytes.baseAddress else { return data.isEmpty }
        return memcmp(one, other, data.count) == 0
      }
    } ?? false
  }

  /// Calls `body` with the bytes of a page, or returns `nil` if it is missing.
  private func withPage<Result>(_ number: Int64, _ body: (UnsafeRawBufferPointer) -> Result) throws -> Result?
  {
    if let gathered, gathered.number == number { return gathered.data.withUnsafeBytes(body) }
    let select = try PreparedStatement("SELECT data FROM page WHERE id = ?1", in: database)
    select.bind(number, at: 1)
    defer { select.reset() }
    return try select.step() ? body(select.blob(at: 0)) : nil
  }

  /// Inserts a body, of which no equal one exists.
  /// - Parameter isFile: true if the bytes are in the body's file already.
  func addBody(
    _ data: Data, _ checksum: UInt64, isFile: Bool
  ) throws -> (row: Int64, cost: Int64, isFile: Bool) {
    var page: Int64?
    var place = 0
    let isSmall = !isFile && data.count <= Self.largestSmall
    if isSmall {
      if let gathered, gathered.live + Int64(data.count) >= Self.pageSize { try writeGathered() }
      if gathered == nil { gathered = GatheredPage(number: nextNumber()) }
      page = gathered?.number
      place = gathered?.data.count ?? 0
    } else if !isFile {
      page = nextNumber()
      try insertPage(page ?? 0, live: nil, bodies: nil, data)
    }
    let insert = try PreparedStatement("INSERT INTO body VALUES (NULL, ?1, ?2, ?3, ?4)", in: database)
    insert.bind(Int64(bitPattern: checksum), at: 1)
    insert.bind(Int64(data.count), at: 2)
    insert.bind(page, at: 3)
    insert.bind(Int64(place), at: 4)
    try insert.run()
    let row = database.lastInsertedRowID
    if isSmall { gather(row, data) }
    return (row, EntryRow.cost(Int64(data.count), isFile: isFile), isFile)
  }

  private func gather(_ row: Int64, _ data: Data) {
    gathered?.data.append(data)
    gathered?.bodies.append(row)
    gathered?.live += Self.weight(Int64(data.count))
  }

  /// Returns what a body counts in its page. An empty one counts too.
  private static func weight(_ size: Int64) -> Int64 { size + 1 }

  private func insertPage(_ number: Int64, live: Int64?, bodies: [Int64]?, _ data: Data) throws {
    let insert = try PreparedStatement("INSERT INTO page VALUES (?1, ?2, ?3, ?4)", in: database)
    insert.bind(number, at: 1)
    insert.bind(live, at: 2)
    if let bodies {
      var writer = ByteWriter()
      var last: Int64 = 0
      for body in bodies {
        writer.write(short: body - last)
        last = body
      }
      insert.bind(Data(writer.bytes), at: 3)
    } else {
      insert.bind(Int64?.none, at: 3)
    }
    insert.bind(data, at: 4)
    try insert.run()
  }

  private func writeGathered() throws {
    guard let page = gathered else { return }
    gathered = nil
    if page.live > 0 { try insertPage(page.number, live: page.live, bodies: page.bodies, page.data) }
  }

  // MARK: references

  /// Makes another entry bear the body of a deleted row, or deletes the body if none names it.
  func passOn(_ row: EntryRow, isReplaced: Bool) throws {
    guard let body = row.body else { return }
    let find = try PreparedStatement(
      "SELECT id FROM entry WHERE body = ?1 AND bears = 0 ORDER BY pinned DESC LIMIT 1", in: database)
    find.bind(body.row, at: 1)
    let next = try find.step() ? find.int(at: 0) : nil
    find.reset()
    guard let next, var heir = try self.row(next) else {
      try deleteBody(row, isReplaced: isReplaced)
      return
    }
    let update = try PreparedStatement("UPDATE entry SET bears = 1 WHERE id = ?1", in: database)
    update.bind(next, at: 1)
    try update.run()
    tally(heir, -1)
    heir.bears = true
    tally(heir, 1)
  }

  private func deleteBody(_ row: EntryRow, isReplaced: Bool) throws {
    guard let body = row.body else { return }
    let find = try PreparedStatement("SELECT page FROM body WHERE id = ?1", in: database)
    find.bind(body.row, at: 1)
    guard try find.step() else { return find.reset() }
    let page = find.optionalInt(at: 0)
    find.reset()
    let delete = try PreparedStatement("DELETE FROM body WHERE id = ?1", in: database)
    delete.bind(body.row, at: 1)
    try delete.run()
    if let page { return try shorten(page, by: Self.weight(row.size)) }
    let name = BodyName(checksum: row.checksum, size: row.size)
    if try isNamed(name) { return }
    if isReplaced || awaited.contains(name) { try noteUnnamed(name) } else { files.removeBody(name) }
  }

  /// Counts a body of a page as gone. The page goes with its last one.
  private func shorten(_ page: Int64, by weight: Int64) throws {
    if gathered?.number == page {
      gathered?.live -= weight
      return
    }
    let update = try PreparedStatement("UPDATE page SET live = live - ?2 WHERE id = ?1", in: database)
    update.bind(page, at: 1)
    update.bind(weight, at: 2)
    try update.run()
    let delete = try PreparedStatement(
      "DELETE FROM page WHERE id = ?1 AND (live IS NULL OR live <= 0)", in: database)
    delete.bind(page, at: 1)
    try delete.run()
  }

  // MARK: pages

  /// Writes the gathered page, and joins pages with little left in them. Reads and writes four whole pages at most.
  func fold() throws {
    try writeGathered()
    guard joinsPages else { return }
    for _ in 0..<4 { guard try foldOnce() else { return } }
  }

  /// Joins pages with little left in them to a whole one. Returns false if they would not fill one.
  func foldOnce() throws -> Bool {
    let select = try PreparedStatement(
      "SELECT id, live FROM page WHERE live < 16384 ORDER BY live DESC", in: database)
    var found: [Int64] = []
    var live: Int64 = 0
    while live < Self.pageSize, try select.step() {
      found.append(select.int(at: 0))
      live += select.int(at: 1)
    }
    select.reset()
    guard live >= Self.pageSize else { return false }
    var whole = GatheredPage(number: nextNumber())
    // The last one may exceed the size, and stays.
    for page in found.dropLast() { try move(page, to: &whole) }
    try insertPage(whole.number, live: whole.live, bodies: whole.bodies, whole.data)
    return true
  }

  /// Moves the bodies that entries still name, and deletes the page.
  private func move(_ page: Int64, to whole: inout GatheredPage) throws {
    let select = try PreparedStatement("SELECT bodies, data FROM page WHERE id = ?1", in: database)
    select.bind(page, at: 1)
    guard try select.step() else { return select.reset() }
    let listed = select.blob(at: 0)
    let data = Data(select.blob(at: 1))
    var reader = ByteReader(listed)
    var bodies: [Int64] = []
    var body: Int64 = 0
    while !reader.isAtEnd, let step = reader.readShort() {
      body += step
      bodies.append(body)
    }
    select.reset()
    var moved: Set<Int64> = []
    for body in bodies where moved.insert(body).inserted {
      let find = try PreparedStatement(
        "SELECT place, size FROM body WHERE id = ?1 AND page = ?2", in: database)
      find.bind(body, at: 1)
      find.bind(page, at: 2)
      let bounds = try find.step() ? (place: Int(find.int(at: 0)), size: Int(find.int(at: 1))) : nil
      find.reset()
      guard let bounds, bounds.place >= 0, bounds.size >= 0, bounds.place <= data.count,
        bounds.size <= data.count - bounds.place
      else { continue }
      let update = try PreparedStatement("UPDATE body SET page = ?2, place = ?3 WHERE id = ?1", in: database)
      update.bind(body, at: 1)
      update.bind(whole.number, at: 2)
      update.bind(Int64(whole.data.count), at: 3)
      try update.run()
      whole.bodies.append(body)
      whole.live += Self.weight(Int64(bounds.size))
      whole.data.append(data[data.startIndex + bounds.place..<data.startIndex + bounds.place + bounds.size])
    }
    let delete = try PreparedStatement("DELETE FROM page WHERE id = ?1", in: database)
    delete.bind(page, at: 1)
    try delete.run()
  }

  // MARK: files ahead of their rows, and after them

  func noteUnnamed(_ name: BodyName) throws {
    let insert = try PreparedStatement("INSERT OR IGNORE INTO unnamed VALUES (?1, ?2)", in: database)
    insert.bind(Int64(bitPattern: name.checksum), at: 1)
    insert.bind(name.size, at: 2)
    try insert.run()
    leavesFiles = true
  }

  /// Empties the list of files of bodies and returns those that no body has.
  func takeUnnamed() throws -> [BodyName] {
    let select = try PreparedStatement("SELECT checksum, size FROM unnamed", in: database)
    var found: [BodyName] = []
    while try select.step() {
      found.append(BodyName(checksum: UInt64(bitPattern: select.int(at: 0)), size: select.int(at: 1)))
    }
    select.reset()
    if !found.isEmpty { try database.execute(sql: "DELETE FROM unnamed") }
    return try found.filter { try !isNamed($0) }
  }

  /// True if a body is in the file of this name.
  func isNamed(_ name: BodyName) throws -> Bool {
    let find = try PreparedStatement(
      """
      SELECT 1 FROM body WHERE checksum & 32767 = ?1 & 32767 AND +checksum = ?1 AND size = ?2
        AND page IS NULL
      """, in: database)
    find.bind(Int64(bitPattern: name.checksum), at: 1)
    find.bind(name.size, at: 2)
    defer { find.reset() }
    return try find.step()
  }
}
