package import Logging
import Synchronization

/// A log that keeps its lines: level, message and metadata, except sentences under `reason`.
package final class RecordedLog: Sendable {
  private let recorded = Mutex<[String]>([])

  package init() {}

  package var lines: [String] { recorded.withLock { $0 } }

  package var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

  private struct Handler: LogHandler {
    let log: RecordedLog
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .notice

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let known = (event.metadata ?? [:]).filter { $0.key != "reason" }.sorted { $0.key < $1.key }
      let words = known.map { " \($0.key)=\($0.value)" }.joined()
      log.recorded.withLock { $0.append("\(event.level): \(event.message)\(words)") }
    }
  }
}
