import BothyStore
import BothySync

/// The steps of a soak's device: transfers, counts, adds, edits, inserts, deletions, reads. Each step logs `invoke`
/// before the transaction and `ok` once it is durable.
struct SoakWorkload: Sendable {
  let store: SyncedStore
  let device: Int
  /// The last written number. Every value of the run is written once.
  var number: Int64
  var random: SplitMix64
  let skips: Set<String>

  static let accounts = 5
  static let deposit: Int64 = 100
  static let counters = 2
  static let notes = 4

  init(store: SyncedStore, device: Int, number: Int64, seed: UInt64, skips: Set<String>) {
    self.store = store
    self.device = device
    self.number = number
    random = SplitMix64(seed: seed)
    self.skips = skips
  }

  /// Creates the records that all devices share. The next sync sends them.
  func makeSharedRecords() async throws {
    try await store.store.write { transaction in
      for index in 0..<Self.accounts {
        try transaction.insert(AnyRecord("Account", id: "a\(index)", ["balance": .int(Self.deposit)]))
      }
      for index in 0..<Self.counters {
        try transaction.insert(AnyRecord("Counter", id: "c\(index)", ["n": 0]))
      }
      for index in 0..<Self.notes { try transaction.insert(AnyRecord("Note", id: "n\(index)", ["title": 0])) }
    }
  }

  mutating func step() async throws {
    number += 1
    switch random.below(100) {
    case ..<36 where skips.contains("bank"), 82..<92 where skips.contains("families"): return
    case ..<18: try await transfer()
    case ..<36: try await readAccounts()
    case ..<46: try await count()
    case ..<56: try await add()
    case ..<60: try await remove()
    case ..<70: try await editOwnField()
    case ..<76: try await retitle()
    case ..<82: try await tag()
    case ..<88: try await family()
    case ..<92: try await readFamilies()
    default: try await scribble()
    }
  }

  // MARK: the bank

  /// Moves an amount from one account to another, in one transaction that the server applies atomically.
  private mutating func transfer() async throws {
    let from = random.below(Self.accounts)
    let to = (from + 1 + random.below(Self.accounts - 1)) % Self.accounts
    let amount = Int64(1 + random.below(5))
    let value: JSONValue = ["from": .int(Int64(from)), "to": .int(Int64(to)), "amount": .int(amount)]
    try await perform("transfer", value) { transaction in
      try Self.add(-amount, to: "balance", of: RecordID(type: "Account", id: "a\(from)"), in: transaction)
      try Self.add(amount, to: "balance", of: RecordID(type: "Account", id: "a\(to)"), in: transaction)
    }
  }

  private func readAccounts() async throws {
    try SoakLog.say("invoke", "read")
    let accounts = try await store.store.fetch(AnyQuery("Account"))
    var balances: [String: JSONValue] = [:]
    for account in accounts { balances[String(account.id.dropFirst())] = Self.json(account["balance"]) }
    try SoakLog.say("ok", "read", value: .object(balances))
  }

  // MARK: counters and sets

  private mutating func count() async throws {
    let id = "c\(random.below(Self.counters))"
    let amount = Int64(1 + random.below(3))
    try await perform("count", ["counter": .string(id), "amount": .int(amount)]) { transaction in
      try Self.add(amount, to: "n", of: RecordID(type: "Counter", id: id), in: transaction)
    }
  }

  private mutating func add() async throws {
    let record = AnyRecord("Element", ["value": .int(number)])
    // Some are sent to the server first by `remoteThenLocal`. Their outcome is known only when the save returns.
    guard random.below(4) == 0 else {
      return try await perform("add", .int(number)) { try $0.insert(record) }
    }
    try SoakLog.say("invoke", "add", value: .int(number))
    do {
      try await store.save(record, options: RequestOptions(writePolicy: .remoteThenLocal))
      try SoakLog.say("ok", "add", value: .int(number))
    } catch let error as BothyError where !error.isLocalFailure {
      try SoakLog.say("info", "add", value: .int(number))
      try SoakLog.say("error", "add", value: .string("\(error)"))
    }
  }

  private mutating func remove() async throws {
    let elements = try await store.store.fetch(AnyQuery("Element"))
    guard !elements.isEmpty else { return }
    let element = elements[random.below(elements.count)]
    try await perform("remove", Self.json(element["value"])) { try $0.delete(element.recordID) }
  }

  private mutating func tag() async throws {
    let id = RecordID(type: "Note", id: "n\(random.below(Self.notes))")
    let tag = number
    try await perform("tag", ["note": .string(id.id), "tag": .int(tag)]) { transaction in
      guard let note = try transaction.record(id) else { throw SoakGone(id: id) }
      var tags: [JSONValue] = []
      if case .json(let text) = note["tags"] {
        tags = try JSONValue(parsing: Array(text.utf8)).arrayValue ?? []
      }
      tags.append(.int(tag))
      try transaction.update(id, fields: ["tags": .json(JSONValue.array(tags).canonicalText)])
    }
  }

  // MARK: edits

  /// Writes the field that only this device writes. Its last value must exist at the end.
  private mutating func editOwnField() async throws {
    let id = RecordID(type: "Note", id: "n\(random.below(Self.notes))")
    let (field, value) = ("d\(device)", number)
    try await perform("own", ["note": .string(id.id), "field": .string(field), "value": .int(value)]) {
      try $0.update(id, fields: [field: .int(value)])
    }
  }

  /// Writes a field that all devices write. One of the written values must exist at the end.
  private mutating func retitle() async throws {
    let id = RecordID(type: "Note", id: "n\(random.below(Self.notes))")
    if random.below(2) == 0 {
      let read: JSONValue = ["r", .string(id.id), .null]
      try SoakLog.say("invoke", "txn", value: [read])
      let note = try await store.store.fetch(AnyQuery("Note")).first { $0.id == id.id }
      let title = note.map { Self.json($0["title"]) } ?? .null
      return try SoakLog.say("ok", "txn", value: [["r", .string(id.id), title]])
    }
    let title = number
    try await perform("txn", [["w", .string(id.id), .int(title)]]) {
      try $0.update(id, fields: ["title": .int(title)])
    }
  }

  // MARK: records that belong together

  /// Inserts a parent and two children in one transaction. Every reader must see all three or none.
  private mutating func family() async throws {
    let parent = AnyRecord("Parent", ["value": .int(number)])
    let children = (0..<2).map { _ in AnyRecord("Child", ["parent": .text(parent.id)]) }
    try await perform("family", .int(number)) { transaction in
      // Inserts the children first, as sending orders the changes.
      for child in children { try transaction.insert(child) }
      try transaction.insert(parent)
    }
  }

  private func readFamilies() async throws {
    try SoakLog.say("invoke", "families")
    let counts = try await store.store.read { transaction in
      var counts: [String: Int64] = [:]
      for parent in try transaction.fetch(AnyQuery("Parent")) { counts[parent.id, default: 0] += 10 }
      for child in try transaction.fetch(AnyQuery("Child")) {
        counts[child["parent"].text ?? "", default: 0] += 1
      }
      return counts
    }
    let torn = counts.filter { $0.value != 12 }.mapValues { JSONValue.int($0) }
    try SoakLog.say("ok", "families", value: .object(torn))
  }

  // MARK: any operation

  /// Inserts, edits and deletes a few records that all devices write. They must only agree at the end.
  private mutating func scribble() async throws {
    let id = RecordID(type: "Scrap", id: "s\(random.below(6))")
    let (value, choice) = (number, random.below(3))
    try await perform("scribble", .int(value)) { transaction in
      let exists = try transaction.exists(id)
      switch (choice, exists) {
      case (0, true): try transaction.delete(id)
      case (_, true): try transaction.update(id, fields: ["value": .int(value)])
      case (_, false): try transaction.insert(AnyRecord("Scrap", id: id.id, ["value": .int(value)]))
      }
    }
  }

  // MARK: shared

  /// Logs the start of an operation, runs it in one transaction, and logs its end.
  private func perform(
    _ operation: String, _ value: JSONValue, _ body: @escaping @Sendable (WriteTransaction) throws -> Void
  ) async throws {
    try SoakLog.say("invoke", operation, value: value)
    let delivery: WriteGrouping = ["transfer", "family"].contains(operation) ? .atomic : .independent
    try await store.write(delivery) { try body($0) }
    try SoakLog.say("ok", operation, value: value)
  }

  private static func add(
    _ amount: Int64, to field: String, of id: RecordID, in transaction: WriteTransaction
  ) throws {
    guard let record = try transaction.record(id), case .int(let before) = record[field] else {
      throw SoakGone(id: id)
    }
    try transaction.update(id, fields: [field: .int(before + amount)])
  }

  private static func json(_ value: FieldValue) -> JSONValue {
    if case .int(let number) = value { .int(number) } else { .null }
  }
}

/// The error for a missing record that no device deletes.
struct SoakGone: Error, CustomStringConvertible {
  var id: RecordID
  var description: String { "\(id) is gone, and no device deleted it." }
}

extension SplitMix64 {
  fileprivate mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
