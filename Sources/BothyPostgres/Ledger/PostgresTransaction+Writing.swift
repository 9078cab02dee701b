import BothyStore
import BothySyncService

/// Records, their departures and the outcomes of operations, in their stored form.
extension PostgresTransaction {
  func put(_ entries: [LedgerRecord]) throws {
    guard let last = entries.map(\.position).max() else { return }
    // One statement changes a row once, so only the last version of a record is stored.
    var latest: [RecordID: Int] = [:]
    for (index, entry) in entries.enumerated() { latest[entry.record.id] = index }
    let stored = entries.enumerated().filter { latest[$1.record.id] == $0 }.map(\.element)
    let records = stored.map(\.record)
    var insert = statement(LedgerSQL.putRecords)
    insert.bind(stored.map(\.position))
    insert.bind(records.map(\.id.type))
    insert.bind(records.map(\.id.id))
    insert.bind(records.map(\.container))
    insert.bind(records.map(\.modified))
    insert.bind(records.map(\.owner))
    insert.bind(records.map(\.isDeleted))
    insert.bind(records.map { !$0.fields.bytes.holdsEscapedZero })
    insert.bind(utf8: records.map(\.fields.bytes))
    insert.bind(records.map { $0.sharing.isEmpty ? nil : $0.sharing.json })
    insert.bind(records.map(\.created))
    write(insert)
    keep(
      entries.compactMap { entry in
        entry.leaves.map { LedgerDeparture(position: entry.position, id: entry.record.id, container: $0) }
      })
    moveHead(to: last)
  }

  private func keep(_ departures: [LedgerDeparture]) {
    guard !departures.isEmpty else { return }
    var insert = statement(LedgerSQL.putDepartures)
    insert.bind(departures.map(\.position))
    insert.bind(departures.map(\.id.type))
    insert.bind(departures.map(\.id.id))
    insert.bind(departures.map(\.container))
    write(insert)
  }

  func remember(_ outcomes: [Outcome], device: String, at time: Int64) throws {
    guard !outcomes.isEmpty else { return }
    list()
    var writer = JSONWriter()
    var texts: [[UInt8]] = []
    for outcome in outcomes {
      writer.removeAll()
      outcome.write(to: &writer)
      texts.append(writer.bytes)
    }
    var insert = statement(LedgerSQL.remember)
    insert.bind(device)
    insert.bind(outcomes.map(\.operation))
    insert.bind(utf8: texts)
    insert.bind(time)
    write(insert)
  }

  func forget(device: String, before operation: String, rememberedBefore time: Int64) throws {
    var delete = statement(LedgerSQL.forget)
    delete.bind(device)
    delete.bind(operation)
    delete.bind(time)
    write(delete)
  }
}

extension [UInt8] {
  /// True if JSON of these bytes may have a zero character in a text, which PostgreSQL's `jsonb` refuses.
  var holdsEscapedZero: Bool {
    guard var index = firstIndex(of: UInt8(ascii: "\\")) else { return false }
    let escape = Array("\\u0000".utf8)
    while index + escape.count <= endIndex {
      if self[index..<index + escape.count].elementsEqual(escape) { return true }
      guard let next = self[(index + 1)...].firstIndex(of: UInt8(ascii: "\\")) else { return false }
      index = next
    }
    return false
  }
}
