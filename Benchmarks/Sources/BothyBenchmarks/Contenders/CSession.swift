import Bars
import CFloor
import Foundation

/// Returns a session of hand-written C. The work is in `CFloor`, and rows are passed as C structs made beforehand.
func cSession(_ data: Dataset, _ path: String) throws -> Session {
  guard let store = floor_open(path) else { throw BenchmarkError("The C floor can't open \(path).") }
  let items = CItems(data.items)
  let singles = CItems(data.singles)
  let shuffled = CItems(data.shuffled)
  let updates = CItems(data.updates)
  let deletions = CItems(data.deletions)
  let (low, high) = (Int64(data.range.lowerBound), Int64(data.range.upperBound))
  return Session(
    insert: { Int(floor_insert(store, 0, items.start, items.count)) },
    fillIndexed: { Int(floor_insert(store, 1, items.start, items.count)) },
    insertEach: { Int(floor_insert_each(store, singles.start, singles.count)) },
    readAll: { Int(floor_read(store, shuffled.start, shuffled.count)) },
    readOne: {
      (0..<updates.items.count).reduce(0) { $0 + Int(floor_read_one(store, updates.items[$1].id)) }
    },
    scan: { Int(floor_scan(store)) },
    query: { Int(floor_query(store, 0, low, high)) },
    queryIndexed: { Int(floor_query(store, 1, low, high)) },
    update: { Int(floor_update(store, updates.start, updates.count)) },
    delete: { Int(floor_delete(store, deletions.start, deletions.count)) },
    close: { floor_close(store) })
}

/// Rows as C structs, with the memory that they point to.
private final class CItems {
  let items: UnsafeMutableBufferPointer<floor_item>
  private var texts: [UnsafeMutablePointer<CChar>] = []

  var start: UnsafePointer<floor_item>? { UnsafePointer(items.baseAddress) }
  var count: Int64 { Int64(items.count) }

  init(_ rows: [Item]) {
    items = .allocate(capacity: rows.count)
    for (index, row) in rows.enumerated() {
      items.initializeElement(
        at: index,
        to: floor_item(
          id: copy(row.id), name: copy(row.name), note: row.note.flatMap(copy), count: Int64(row.count),
          price: row.price, created: Int64(row.created.timeIntervalSince1970 * 1000),
          active: row.active ? 1 : 0))
    }
  }

  private func copy(_ text: String) -> UnsafePointer<CChar>? {
    guard let copied = strdup(text) else { return nil }
    texts.append(copied)
    return UnsafePointer(copied)
  }

  deinit {
    for text in texts { free(text) }
    items.deallocate()
  }
}
