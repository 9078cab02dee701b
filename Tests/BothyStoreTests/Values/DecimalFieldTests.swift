import BothyStore
import BothyTestSupport
import Foundation
import Testing

/// Decimals as fields: every digit, and the order of the numbers.
@Suite(.timeLimit(.minutes(5))) struct DecimalFieldTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct Bill: Entity {
    static let schema = TypeSchema(
      "Bill",
      fields: [
        .field("total", Decimal.self, default: 0, indexed: true), .field("tip", Decimal?.self),
        .field("payer", String.self),
      ])
    struct Fields: Sendable {
      let total = Field<Decimal>("total")
      let tip = Field<Decimal?>("tip")
      let payer = Field<String>("payer")
    }
    static let fields = Fields()

    var id: String
    var total: Decimal
    var tip: Decimal?
    var payer = "ann"

    init(_ id: String, _ total: Decimal, tip: Decimal? = nil, payer: String = "ann") {
      self.id = id
      self.total = total
      self.tip = tip
      self.payer = payer
    }

    func encode(to fields: inout FieldEncoder) {
      total.encodeField(to: &fields)
      tip.encodeField(to: &fields)
      payer.encodeField(to: &fields)
    }

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      total = try Decimal(fromField: &fields)
      tip = try Decimal?(fromField: &fields)
      payer = try String(fromField: &fields)
    }
  }

  private static func number(_ text: String) throws -> Decimal { try #require(Decimal(string: text)) }

  /// Returns a number of at most 18 digits, perhaps with zeros behind its last.
  private func number(_ random: inout SeededChoices, exponents: ClosedRange<Int> = -15...15) -> Decimal {
    let digits = Int.random(in: 1...18, using: &random)
    let limit = (0..<digits).reduce(UInt64(1)) { power, _ in power * 10 }
    let size = Decimal(
      sign: .plus, exponent: .random(in: exponents, using: &random),
      significand: Decimal(UInt64.random(in: 0..<limit, using: &random)))
    return random.chance(0.4) ? 0 - size : size
  }

  private func restored(_ value: FieldValue) throws -> Decimal {
    var decoder = FieldDecoder(values: [value], type: "Bill")
    return try Decimal(fromField: &decoder)
  }

  private func text(_ value: Decimal) -> String { FieldValue(value).text ?? "" }

  private func store(_ bills: [Bill]) throws -> LocalStore {
    let store = try LocalStore(inMemory: StoreSchema(Bill.self))
    try store.write { transaction in for bill in bills { try transaction.insert(bill) } }
    return store
  }

  private func value<R: ReadRequest>(of request: R, in store: LocalStore) throws -> R.Value {
    try store.read { try $0.fetch(request) }
  }

  @Test("The text of a decimal shows its digits behind a letter that counts them")
  func form() throws {
    #expect(text(0) == "a0")
    #expect(try text(Self.number("0.050")) == "a0.05")
    #expect(try text(Self.number("12.50")) == "b12.5")
    #expect(text(1000) == "d1000")
    #expect(try text(Self.number("-12.5")) == "-y87.4~")
    #expect(text(Decimal(sign: .plus, exponent: 24, significand: 1)).prefix(2) == "y1")
    #expect(text(Decimal(sign: .plus, exponent: 25, significand: 1)).prefix(4) == "zba1")
    #expect(text(Decimal(sign: .plus, exponent: -2, significand: 1250)) == "b12.5")
  }

  @Test("Decimals of any size survive their text with every digit", arguments: 0..<20)
  func roundTrip(seed: UInt64) throws {
    var random = SeededChoices(seed: seed)
    var numbers: [Decimal] = [
      0, 1, -1, .pi, .greatestFiniteMagnitude, .leastFiniteMagnitude, .leastNonzeroMagnitude,
    ]
    numbers.append(try Self.number("99999999999999999999999999999999999999"))
    numbers.append(try Self.number("-0.00000000000000000000000000000000000001"))
    for _ in 0..<100 { numbers.append(number(&random, exponents: -100...100)) }
    for value in numbers { #expect(try restored(FieldValue(value)) == value, "seed \(seed): \(value)") }
  }

  @Test("The texts of decimals sort by their bytes like the numbers", arguments: 0..<20)
  func order(seed: UInt64) {
    var random = SeededChoices(seed: seed)
    var numbers: [Decimal] = [0, 1, -1]
    for _ in 0..<40 {
      let value = number(&random)
      numbers += [value, 0 - value, value + 1]
    }
    let texts = numbers.map { text($0) }
    for (left, first) in zip(numbers, texts) {
      for (right, second) in zip(numbers, texts) {
        let isBefore = first.utf8.lexicographicallyPrecedes(second.utf8)
        guard isBefore == (left < right), (first == second) == (left == right) else {
          Issue.record("seed \(seed): \(left) is \(first), and \(right) is \(second)")
          return
        }
      }
    }
  }

  @Test(
    "Text of another form isn't read as a decimal",
    arguments: [
      "", "12.5", "a12.5", "b12.50", "b12.", "c012", "a.5", "b12,5", "B12.5", "-a0~", "-y87.4", "y87.4~",
      "-", "-~", "~", "b12.5.5", "a0x", "b+2", "za1", "zba" + String(repeating: "1", count: 500),
      "zbo1" + String(repeating: "2", count: 39),
    ])
  func otherText(text: String) {
    expect(.invalidValue) { _ = try restored(.text(text)) }
  }

  @Test("Conditions, orders, and the smallest and largest agree with the numbers", arguments: 0..<10)
  func queries(seed: UInt64) throws {
    var random = SeededChoices(seed: seed)
    var pool: [Decimal] = [0, 5]
    for _ in 0..<12 { pool.append(number(&random, exponents: -17...1)) }
    var bills: [Bill] = []
    for index in 10..<50 {
      let tip = random.chance(0.3) ? nil : random.pick(pool)
      bills.append(Bill("\(index)", random.pick(pool), tip: tip))
    }
    let store = try self.store(bills)
    let records = bills.map { AnyRecord($0) }
    let sorted = bills.sorted { ($0.total, $0.id) < ($1.total, $1.id) }
    let (zero, nine): (Decimal, Decimal) = (0, 9)
    for limit in pool.prefix(6) {
      let comment: Comment = "seed \(seed): \(limit)"
      var conditions: [(Condition, (Decimal) -> Bool)] = []
      conditions.append((Bill.fields.total == limit, { $0 == limit }))
      conditions.append((Bill.fields.total != limit, { $0 != limit }))
      conditions.append((Bill.fields.total < limit, { $0 < limit }))
      conditions.append((Bill.fields.total >= limit, { $0 >= limit }))
      conditions.append(((zero...nine).contains(Bill.fields.total), { $0 >= zero && $0 <= nine }))
      conditions.append(([limit, zero].contains(Bill.fields.total), { $0 == limit || $0 == zero }))
      for (condition, holds) in conditions {
        let query = AnyQuery("Bill", where: condition, order: [Bill.fields.total.ascending])
        let expected = sorted.filter { holds($0.total) }.map(\.id)
        #expect(try store.fetch(query).map(\.id) == expected, comment)
        #expect(try query.evaluate(over: records, schema: Bill.schema).map(\.id) == expected, comment)
      }
      let less = try store.fetch(Bill.where { $0.tip < limit && $0.tip < $0.total })
      let expected = bills.filter { bill in bill.tip.map { $0 < limit && $0 < bill.total } ?? false }
      #expect(less.map(\.id) == expected.map(\.id), comment)
    }
    #expect(try value(of: Bill.all.minimum(\.total), in: store) == sorted.first?.total)
    #expect(try value(of: Bill.all.maximum(\.total), in: store) == sorted.last?.total)
  }

  @Test("Sums are exact, also where the numbers' own addition rounds", arguments: 0..<10)
  func sums(seed: UInt64) throws {
    var random = SeededChoices(seed: seed)
    var bills: [Bill] = []
    for index in 0..<50 {
      let tip = random.chance(0.5) ? number(&random, exponents: -6...6) : nil
      let total = number(&random, exponents: -6...6)
      bills.append(Bill("\(index)", total, tip: tip, payer: random.pick(["ann", "bob"])))
    }
    let store = try self.store(bills)
    func sum(_ numbers: [Decimal]) -> Decimal { numbers.reduce(Decimal(0)) { $0 + $1 } }
    let total = sum(bills.map(\.total))
    #expect(try value(of: Bill.all.sum(\.total), in: store) == total, "seed \(seed)")
    #expect(try value(of: Bill.all.sum(\.tip), in: store) == sum(bills.compactMap(\.tip)), "seed \(seed)")
    for group in try value(of: Bill.all.group(by: \.payer).sum(\.total), in: store) {
      let own = sum(bills.filter { $0.payer == group.key }.map(\.total))
      #expect(group.value == own, "seed \(seed)")
    }
    let mean = try value(of: Bill.all.average(\.total), in: store) ?? 0
    let exact = NSDecimalNumber(decimal: total).doubleValue / 50
    #expect(abs(mean - exact) <= abs(exact) * 1e-12, "seed \(seed)")
    #expect(try value(of: Bill.where { $0.payer == "eve" }.sum(\.total), in: store) == 0)
    #expect(try value(of: Bill.where { $0.payer == "eve" }.average(\.total), in: store) == nil)

    let cent = try Self.number("0.01")
    let large = Decimal(sign: .plus, exponent: 60, significand: 1)
    let wide = try self.store([Bill("a", large), Bill("b", cent), Bill("c", 0 - large)])
    #expect(try value(of: Bill.all.sum(\.total), in: wide) == cent)
    let error = #expect(throws: BothyError.self) {
      _ = try value(of: Bill.where { $0.total > 0 }.sum(\.total), in: wide)
    }
    #expect(error?.code == .invalidValue)
  }

  @Test("A text that isn't a decimal shows the default, and fails a sum")
  func foreignText() throws {
    let store = try self.store([Bill("a", 5)])
    try store.write { try $0.insert(AnyRecord("Bill", id: "b", ["total": "12.5", "payer": "bob"])) }
    #expect(try store.fetch(Bill.all).map(\.total) == [5, 0])
    let error = #expect(throws: BothyError.self) { _ = try value(of: Bill.all.sum(\.total), in: store) }
    #expect(error?.code == .database)
    #expect(error?.message.contains("decimal") ?? false, "\(error?.message ?? "")")
  }

  @Test("What isn't a number is refused by writes and conditions")
  func notANumber() throws {
    let store = try self.store([])
    expect(.invalidValue) { try store.write { try $0.insert(Bill("a", .nan)) } }
    expect(.invalidValue) { try store.write { try $0.insert(Bill("a", 0, tip: .nan)) } }
    expect(.invalidQuery) { _ = try store.fetch(Bill.where { $0.total == Decimal.nan }) }
  }

  @Test("A condition as text compares decimals with numbers of any scale")
  func numbers() throws {
    let (less, tenth) = (try Self.number("-12.5"), try Self.number("0.1"))
    let store = try self.store([Bill("a", 9), Bill("b", 100), Bill("c", less), Bill("d", tenth)])
    func ids(_ condition: String) throws -> [String] {
      try store.fetch(AnyQuery("Bill", where: WhereParser.parse(condition))).map(\.id)
    }
    #expect(try ids("total > 9") == ["b"])
    #expect(try ids("total = 9.00") == ["a"])
    #expect(try ids("total < -12") == ["c"])
    #expect(try ids("total IN (0.10, 1e2)") == ["b", "d"])
    #expect(try ids("total >= 'b12.5'") == ["b"])
    expect(.invalidQuery) { _ = try ids("payer > 9") }
  }

  @Test("Tools write and show a decimal as a number, and no other text")
  func written() throws {
    let total = try #require(Bill.schema["total"])
    for json: JSONValue in [.double(-12.5), "-12.5", "-12.50", "-y87.4~"] {
      #expect(try total.value(written: json) == "-y87.4~")
    }
    let wide = "12345678901234567890.123456789012345678"
    #expect(total.written(try total.value(written: .string(wide))) == .text(wide))
    #expect(total.written("-y87.4~") == "-12.5" && total.written("12,5") == "12,5")
    #expect(total.written(json: "d1000") == "1000" && total.written(json: .int(3)) == .int(3))
    for text in ["", "-", "12.", ".5", "1e3", "12,5", String(repeating: "1", count: 39) + "2", "z"] {
      #expect(throws: FieldValueError.self) { _ = try total.value(written: .string(text)) }
    }
    let payer = try #require(Bill.schema["payer"])
    #expect(try payer.value(written: "12.5") == "12.5" && payer.written("b12.5") == "b12.5")
    let record = AnyRecord("Bill", id: "a", ["total": "c100", "payer": "b12.5"])
    #expect(Bill.schema.written(record).fields == ["total": "100", "payer": "b12.5"])
  }

  @Test("A schema document tells decimals from other text")
  func mark() throws {
    let again = try StoreSchema(json: StoreSchema(Bill.self).json.canonicalText)
    let fields = try #require(again["Bill"]?.fields)
    #expect(fields.map(\.isDecimal) == [true, true, false])
    expect(.invalidSchema) {
      _ = try StoreSchema(
        json: #"{"types":[{"name":"Bill","fields":[{"name":"total","type":"int","decimal":true}]}]}"#)
    }
  }

  @Test("A schema with defaults of decimals and days survives its JSON")
  func schema() throws {
    let day = try #require(CalendarDate(year: 2026, month: 3, day: 9))
    let schema = StoreSchema(types: [
      TypeSchema(
        "Bill",
        fields: [
          .field("total", Decimal.self, default: 12.5), .field("due", CalendarDate.self, default: day),
          .field("page", URL?.self), .field("weight", Float.self, default: 0.5), .field("count", Int32.self),
        ])
    ])
    let again = try StoreSchema(json: schema.json.canonicalText)
    #expect(again == schema)
    #expect(again.types.first?["total"]?.defaultValue == "b12.5")
    #expect(again.types.first?["due"]?.defaultValue == "2026-03-09")
  }

  @Test("A step converts text and numbers of a file to decimals")
  func migration() throws {
    func schema(_ version: Int, _ price: FieldSchema, _ cost: FieldSchema) -> StoreSchema {
      StoreSchema(version: version, types: [TypeSchema("Bill", fields: [price, cost], synced: false)])
    }
    let old = try LocalStore(
      at: folder.database, schema: schema(1, .field("price", String.self), .field("cost", Int.self)))
    try old.write { try $0.insert(AnyRecord("Bill", id: "a", ["price": "12.50", "cost": 1999])) }
    try old.close()
    let migrations = [
      Migration(
        to: 2,
        .convertField(type: "Bill", field: "price", from: String.self) { value in
          let number: Decimal = Decimal(string: value.text ?? "") ?? 0
          return FieldValue(number)
        }),
      Migration(
        to: 2,
        .convertField(type: "Bill", field: "cost", from: Int.self) { value in
          guard case .int(let pence) = value else { return FieldValue(Decimal(0)) }
          return FieldValue(Decimal(pence) / 100)
        }),
    ]
    let store = try LocalStore(
      at: folder.database,
      schema: schema(2, .field("price", Decimal.self, default: 0), .field("cost", Decimal.self, default: 0)),
      migrations: migrations)
    let record = try #require(try store.record(RecordID(type: "Bill", id: "a")))
    #expect(record.fields == ["price": "b12.5", "cost": "b19.99"])
    #expect(try store.diagnose().findings == [])
    try store.close()
  }

  @Test("A text that becomes a decimal needs a step, and so does the reverse", arguments: [true, false])
  func withoutStep(toDecimal: Bool) throws {
    func schema(_ version: Int, _ isDecimal: Bool) -> StoreSchema {
      let price: FieldSchema = isDecimal ? .field("price", Decimal.self) : .field("price", String.self)
      return StoreSchema(version: version, types: [TypeSchema("Bill", fields: [price], synced: false)])
    }
    let old = try LocalStore(at: folder.database, schema: schema(1, !toDecimal))
    try old.write { try $0.insert(AnyRecord("Bill", id: "a", ["price": "b12.5"])) }
    try old.close()
    expect(.schemaMismatch) { _ = try LocalStore(at: folder.database, schema: schema(2, toDecimal)) }
    try LocalStore(at: folder.database, schema: schema(1, !toDecimal)).close()
  }
}
