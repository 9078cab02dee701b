import Logging
import Synchronization

/// The warnings of queries that visit many records to find few. Stores have it in debug builds.
final class ScanLog: Sendable {
  /// The number of records that a scan may visit in vain.
  static let limit = 10_000
  /// The most queries that are remembered, so that each is reported once.
  private static let memory = 1000

  private let logger: Logger
  private let told = Mutex<Set<String>>([])

  init(_ logger: Logger) { self.logger = logger }

  /// Warns of a statement that has ended, once for each text.
  ///
  /// - Parameters:
  ///   - type: the type of the records; nil for SQL, which may read several.
  ///   - found: the number of records that it returned.
  func note(_ statement: PreparedStatement, of type: String?, found: Int) {
    let visited = statement.scanSteps(resetting: true) + 1
    guard visited - found > Self.limit, let sql = statement.sql else { return }
    let isNew = told.withLock { told in
      if told.count >= Self.memory { told.removeAll() }
      return told.insert(sql).inserted
    }
    guard isNew else { return }
    let remedy =
      "An index of a field in its condition, or of its first sort key, avoids that; 'explain' shows more."
    let records = type.map { "records of \($0)" } ?? "records"
    logger.warning(
      "A query visited \(visited) \(records) to find \(found). \(remedy)", metadata: ["sql": "\(sql)"])
  }
}
