import BothyStore
import BothySync
import BothyTesting
import Testing

/// What is remembered of earlier changes, for later saves of older values.
@Suite("Remembering changes", .timeLimit(.minutes(5)))
struct RememberedChangesTests {
  @Test("Large replaced content takes the place of older content in the file")
  func large() throws {
    let device = try SimulatedWorld().addDevice(schema: .notes)
    let text = String(repeating: "long ", count: 100_000)
    try device.store.store.write(origin: .remote) { transaction in
      let table = try transaction.catalog.table("Note")
      for version in 1...60 {
        let values = AnyRecord(Note("\(text)\(version)")).values(for: Note.schema)
        try transaction.put(table, id: "T1", StoredRow(values: values, version: "\(version)"))
      }
    }
    let (newest, bytes) = try device.store.store.read { transaction -> (Int64, Int64) in
      let select = try PreparedStatement(
        "SELECT max(version), sum(length(fields)) FROM bothy_replaced WHERE number > 0",
        in: transaction.database)
      defer { select.reset() }
      return try select.step() ? (select.int(at: 0), select.int(at: 1)) : (0, 0)
    }
    // Without a limit of bytes all 30 MB stay.
    #expect(newest == 60 && bytes > 15_000_000)
    #expect(bytes < (ReplacedFields.limit + 2000) * Int64(ReplacedFields.unit))
  }

  @Test("The oldest changes are forgotten first, also if one record changes often")
  func oldest() throws {
    let device = try SimulatedWorld().addDevice(schema: .notes)
    let text = String(repeating: "long ", count: 8000)
    try device.insert("T1", "start")
    try device.change { transaction in
      for number in 0..<110 { try transaction.insert(Note(id: "N\(number)", text)) }
    }
    func shorten(_ numbers: Range<Int>) throws {
      for number in numbers { try device.retitle("N\(number)", "short") }
    }
    for number in 0..<200 { try device.retitle("\(number)") }
    try shorten(0..<90)
    var read = try #require(try device.note())
    try device.edit { $0.note = "kept" }
    // The memory for changes is full after half of these.
    try shorten(90..<110)
    read.title = "mine"
    let saved = read
    try device.change { try $0.save(saved) }
    #expect(try device.note()?.title == "mine")
    #expect(try device.note()?.note == "kept")
  }
}
