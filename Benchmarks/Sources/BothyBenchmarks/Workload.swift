import Bars

/// The timed workloads, in the order in which they run on one fresh file.
enum Workload: String, CaseIterable, Sendable {
  case insert = "insert all, one transaction"
  case insertEach = "1k transactions of one insert"
  case readAll = "read all by id, one snapshot"
  case readOne = "one read by id, public call"
  case scan = "full scan, any order"
  case query = "filter and sort"
  case queryIndexed = "filter and sort, indexed"
  case update = "update a tenth (10k at most)"
  case delete = "delete a tenth (10k at most)"
}

/// One open file of one contender. Each closure runs one workload and returns the number of rows that it found or
/// changed, which must be equal for all contenders.
///
/// The members are closures and not a protocol. So the generic code under test is specialized for its entity type, as
/// in an app that calls it directly.
struct Session {
  var insert: () throws -> Int
  /// Fills the table with the index, and isn't timed.
  var fillIndexed: () throws -> Int
  var insertEach: () throws -> Int
  var readAll: () throws -> Int
  var readOne: () throws -> Int
  var scan: () throws -> Int
  var query: () throws -> Int
  var queryIndexed: () throws -> Int
  var update: () throws -> Int
  var delete: () throws -> Int
  var close: () throws -> Void

  func run(_ workload: Workload) throws -> Int {
    switch workload {
    case .insert: try insert()
    case .insertEach: try insertEach()
    case .readAll: try readAll()
    case .readOne: try readOne()
    case .scan: try scan()
    case .query: try query()
    case .queryIndexed: try queryIndexed()
    case .update: try update()
    case .delete: try delete()
    }
  }
}

enum Contender: String, CaseIterable, Sendable {
  case c = "C"
  case swift = "Swift"
  case local = "Bothy local"
  case synced = "Bothy synced"
  case grdb = "GRDB Codable"
  case json = "JSON rows"

  /// Opens a fresh file in `folder`.
  func open(_ data: Dataset, in folder: String) throws -> Session {
    let path = "\(folder)/\(self).db"
    return switch self {
    case .c: try cSession(data, path)
    case .swift: try swiftSession(data, path)
    case .local: try bothySession(data, path, LocalItem.self, IndexedItem.self)
    case .synced: try bothySession(data, path, SyncedItem.self, SyncedIndexedItem.self)
    case .grdb: try grdbSession(data, path)
    case .json: try jsonSession(data, path)
    }
  }
}
