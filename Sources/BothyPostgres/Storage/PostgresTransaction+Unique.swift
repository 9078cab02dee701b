import BothyStore
import BothySyncService

/// The records that have values of unique fields.
extension PostgresTransaction {
  func holders(of values: [UniqueFieldValue], marked mark: String) throws -> UniqueHolders {
    var noted = statement(StorageSQL.uniqueMark)
    noted.bind(mark)
    let position = try read(noted)
    var found = UniqueHolders(position: position.count > 0 ? position.int(0, 0) : 0)
    guard !values.isEmpty else { return found }
    var select = statement(StorageSQL.holders)
    select.bind(values.map(\.type))
    select.bind(values.map(\.field))
    select.bind(values.map(\.value))
    let rows = try read(select)
    for row in 0..<rows.count {
      let value = UniqueFieldValue(
        type: rows.text(row, 0) ?? "", field: rows.text(row, 1) ?? "", value: rows.text(row, 2) ?? "")
      let id = RecordID(type: value.type, id: rows.text(row, 3) ?? "")
      found.records[value, default: []].insert(id)
    }
    return found
  }

  func note(_ holders: [UniqueHolder], forgetting gone: [UniqueHolder]) throws {
    write(StorageSQL.forgetHolders, gone)
    write(StorageSQL.noteHolders, holders) { insert, holder in
      insert.bind(holder.value.type)
      insert.bind(holder.value.field)
      insert.bind(holder.value.value)
      insert.bind(holder.id)
    }
  }

  private func write(_ sql: String, _ holders: [UniqueHolder]) {
    guard !holders.isEmpty else { return }
    var delete = statement(sql)
    delete.bind(holders.map(\.value.type))
    delete.bind(holders.map(\.value.field))
    delete.bind(holders.map(\.value.value))
    delete.bind(holders.map(\.id))
    write(delete)
  }

  func setNoted(upTo position: Int64, from start: Int64, marked mark: String) throws {
    var set = statement(start == 0 ? StorageSQL.beginUniqueMark : StorageSQL.moveUniqueMark)
    set.bind(mark)
    set.bind(start)
    set.bind(position)
    write(set)
  }
}
