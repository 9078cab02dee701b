import BothyStore
import BothyTestSupport
import Foundation
import Testing

/// Sensitive values over migrations: none stays in the file, and none belongs to another field afterwards.
@Suite("Sensitive values over migrations", .timeLimit(.minutes(5))) struct ConcealingStepTests {
  private let folder: TemporaryFolder
  private let secrets = MemorySecretStore()
  private static let word = "correct-horse-battery"
  private static let plain = FieldSchema("pin", .text, optional: true)
  private static let sensitive = FieldSchema("pin", .text, optional: true, sensitive: true)

  init() throws { folder = try TemporaryFolder() }

  private func open(
    _ version: Int, _ fields: FieldSchema..., steps: [Migration.Step] = []
  ) throws -> LocalStore {
    try LocalStore(
      at: folder.database, schema: StoreSchema(version: version, types: [TypeSchema("User", fields: fields)]),
      migrations: steps.map { Migration(to: version, $0) }, options: StoreOptions(secrets: secrets))
  }

  /// Creates a file with a record of a server, and closes it.
  private func seed(_ value: FieldValue, aside: String? = nil, _ field: FieldSchema) throws {
    let store = try open(1, field)
    try store.write { transaction in
      let row = StoredRow(values: [value], version: "1", unknownFields: aside)
      try transaction.put(transaction.catalog.table("User"), id: "ann", row)
    }
    try store.close()
  }

  private func key(_ field: String, _ id: String = "ann") -> SecretKey {
    SecretKey(RecordID(type: "User", id: id), field: field)
  }

  /// True if the file or its log has the text.
  private func holds(_ text: String) throws -> Bool {
    try ["", "-wal"].map { folder.database + $0 }.contains { path in
      guard FileManager.default.fileExists(atPath: path) else { return false }
      return try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data(text.utf8)) != nil
    }
  }

  private func expectConcealed(_ store: LocalStore, _ text: String) throws {
    #expect(try store.record(RecordID(type: "User", id: "ann"))?["pin"] == .null)
    #expect(try store.count("SELECT count(*) FROM User WHERE _extra LIKE '%\(text)%'") == 0)
    #expect(try !holds(text))
  }

  @Test("A conversion makes no field sensitive, and a step after it does")
  func converted() throws {
    try seed(.int(8_274_913_056), FieldSchema("pin", .int, optional: true))
    let convert = Migration.Step.convertField(type: "User", field: "pin", from: Int?.self) { value in
      if case .int(let number) = value { .text("pin \(number)") } else { .null }
    }
    expect(.schemaMismatch) { _ = try open(2, Self.sensitive, steps: [convert]) }
    let steps = [convert, .makeSensitive(type: "User", field: "pin")]
    try expectConcealed(open(2, Self.sensitive, steps: steps), "8274913056")
    #expect(secrets.secret(key("pin")) == "pin 8274913056")
  }

  @Test("A field with indexes that becomes sensitive leaves no value in the file")
  func indexed() throws {
    let field = FieldSchema("pin", .text, optional: true, indexed: true, fullText: true)
    try seed(.text(Self.word), aside: #"{"pin":"\#(Self.word)"}"#, field)
    let store = try open(2, Self.sensitive, steps: [.makeSensitive(type: "User", field: "pin")])
    try expectConcealed(store, Self.word)
    #expect(try !holds("horse"))
    #expect(secrets.secret(key("pin")) == Self.word)
  }

  @Test("A sensitive field in place of a dropped one leaves no values")
  func dropped() throws {
    try seed(.text(Self.word), Self.plain)
    let store = try open(2, Self.sensitive, steps: [.dropField(type: "User", field: "pin")])
    try expectConcealed(store, Self.word)
  }

  @Test("A field that becomes sensitive may be renamed or dropped by a later step", arguments: [true, false])
  func changedLater(isRenamed: Bool) throws {
    try seed(.text(Self.word), Self.plain)
    let sensitive = Migration.Step.makeSensitive(type: "User", field: "pin")
    let field = FieldSchema("code", .text, optional: true, sensitive: isRenamed)
    let next: Migration.Step =
      isRenamed
      ? .renameField(type: "User", from: "pin", to: "code") : .dropField(type: "User", field: "pin")
    let store = try open(2, field, steps: [sensitive, next])
    #expect(try store.count("SELECT count(*) FROM User WHERE _extra IS NOT NULL") == 0)
    #expect(try !holds(Self.word))
    if isRenamed { #expect(secrets.secret(key("code")) == Self.word) }
  }

  @Test("A pending secret follows its renamed field, and belongs to no new one")
  func reusedName() throws {
    try seed(.null, Self.sensitive)
    secrets.set(Self.word, for: key("pin"))
    let code = FieldSchema("code", .text, optional: true, sensitive: true)
    let rename = Migration.Step.renameField(type: "User", from: "pin", to: "code")
    let new = FieldSchema("pin", .text, optional: true, sensitive: true, wire: "pin2")
    try open(2, code, new, steps: [rename]).close()
    #expect(secrets.secret(key("code")) == Self.word)
    #expect(secrets.keys() == [key("code")])
  }

  @Test("A migration that fails leaves the secrets as they were")
  func failing() throws {
    let code = FieldSchema("code", .text, optional: true, sensitive: true)
    let stars = FieldSchema("stars", .text, optional: true)
    try open(1, Self.sensitive, code, stars).close()
    let before = [key("pin"): "of the pin", key("code"): "of the code", key("code", "bob"): "of bob"]
    for (key, secret) in before { secrets.set(secret, for: key) }
    let steps: [Migration.Step] = [
      .dropField(type: "User", field: "code"), .renameField(type: "User", from: "pin", to: "code"),
    ]
    let failing = Migration.Step.dropField(type: "User", field: "stars")
    expect(.schemaMismatch) { _ = try open(2, code, steps: steps) }
    for (key, secret) in before { #expect(secrets.secret(key) == secret) }
    #expect(secrets.keys().count == before.count)
    try open(2, code, steps: steps + [failing]).close()
    #expect(secrets.secret(key("code")) == "of the pin" && secrets.secret(key("code", "bob")) == nil)
  }
}
