import BothyStore
import BothySync
import BothyTesting

/// An account whose balance is a plain number, so the total is constant only if each transfer is sent as a whole.
struct BankAccount: Entity, Equatable {
  static let schema = TypeSchema("BankAccount", fields: [.field("balance", Int.self)])

  var id: String
  var balance: Int

  init(_ id: String, _ balance: Int) {
    self.id = id
    self.balance = balance
  }

  func encode(to fields: inout FieldEncoder) { balance.encodeField(to: &fields) }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    balance = try Int(fromField: &fields)
  }
}

extension StoreSchema {
  static let bank = StoreSchema(version: 1, BankAccount.self)
  /// The schema of the bank with balances that merge as counters.
  static let countingBank = StoreSchema(
    types: [TypeSchema("BankAccount", fields: [FieldSchema("balance", .int, merge: .counter)])])
}

extension RecordID {
  static func account(_ id: String) -> RecordID { RecordID(type: "BankAccount", id: id) }
}

extension SimulatedDevice {
  func balance(_ id: String) throws -> Int? { try store.store.fetch(BankAccount.self, id: id)?.balance }

  /// Moves an amount in one transaction.
  func transfer(_ amount: Int, from payer: String, to payee: String) throws {
    try store.write(.atomic) { transaction in
      try transaction.update(BankAccount.self, id: payer) { $0.balance -= amount }
      try transaction.update(BankAccount.self, id: payee) { $0.balance += amount }
    }
  }

  /// Opens accounts with these balances in one transaction.
  func open(_ balances: [String: Int]) throws {
    try store.write(.atomic) { transaction in
      for (id, balance) in balances { try transaction.insert(BankAccount(id, balance)) }
    }
  }

  /// Returns the balances of all accounts, as a reader sees them now.
  func balances() throws -> [String: Int] {
    let accounts = try store.store.read { try $0.fetch(RecordQuery<BankAccount>()) }
    return Dictionary(uniqueKeysWithValues: accounts.map { ($0.id, $0.balance) })
  }
}

extension SimulatedWorld {
  func serverBalances() async throws -> [String: Int] {
    var balances: [String: Int] = [:]
    for (id, record) in try await serverRecords() {
      balances[id.id] = try record.fields.members()["balance"]?.intValue.map { Int($0) }
    }
    return balances
  }
}
