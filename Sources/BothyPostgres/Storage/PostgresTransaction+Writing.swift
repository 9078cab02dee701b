import BothyStore
import BothySyncService

/// Records, their departures and the outcomes of operations, in their stored form.
extension PostgresTransaction {
  func put(_ entries: [StoredRecord], keepsIndexes: Bool) throws {
    guard let last = entries.map(\.position).max() else { return }
    // One statement changes a row once, so only the last version of a record is stored.
    var latest: [RecordID: Int] = [:]
    for (index, entry) in entries.enumerated() { latest[entry.record.id] = index }
    let stored = entries.enumerated().filter { latest[$1.record.id] == $0 }.map(\.element)
    write(StorageSQL.putRecords, stored) { insert, entry in
      let record = entry.record
      insert.bind(entry.position)
      insert.bind(record.id.type)
      insert.bind(record.id.id)
      insert.bind(record.container)
      insert.bind(record.modified)
      insert.bind(record.owner)
      insert.bind(record.isDeleted)
      insert.bind(!record.fields.bytes.holdsEscapedZero)
      insert.bind(utf8: record.fields.bytes)
      insert.bind(record.sharing.isEmpty ? nil : record.sharing.json)
      insert.bind(record.created)
    }
    index(stored)
    try put(
      entries.compactMap { entry in
        entry.leaves.map { RecordRemoval(position: entry.position, id: entry.record.id, container: $0) }
      })
    moveHead(to: last, keepsIndexes: keepsIndexes)
  }

  func put(_ removals: [RecordRemoval]) throws {
    write(StorageSQL.putDepartures, removals) { insert, removal in
      insert.bind(removal.position)
      insert.bind(removal.id.type)
      insert.bind(removal.id.id)
      insert.bind(removal.container)
      insert.bind(removal.former)
    }
  }

  func remember(_ outcomes: [Outcome], device: String, at time: Int64) throws {
    guard !outcomes.isEmpty else { return }
    list()
    var writer = JSONWriter()
    write(StorageSQL.remember, outcomes) {
      $0.bind(device)
      $0.bind(time)
    } bind: { insert, outcome in
      writer.removeAll()
      outcome.write(to: &writer)
      insert.bind(outcome.operation)
      insert.bind(utf8: writer.bytes)
    }
  }

  func forget(device: String, before operation: String, rememberedBefore time: Int64) throws {
    var delete = statement(StorageSQL.forget)
    delete.bind(device)
    delete.bind(operation)
    delete.bind(time)
    write(delete)
  }
}
