import BothyTestSupport
import Logging

/// A log that keeps its lines.
final class LogUnderTest: Sendable {
  struct Line: Sendable {
    var level: Logger.Level
    var message: String
    var metadata: [String: String]
  }

  fileprivate let kept = Locked<[Line]>([])

  var lines: [Line] { kept.value }

  /// All messages and their metadata as one text.
  var text: String { lines.map { "\($0.message) \($0.metadata)" }.joined(separator: "\n") }

  func logger() -> Logger { Logger(label: "test") { _ in Handler(log: self) } }

  private struct Handler: LogHandler {
    let log: LogUnderTest
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
      let line = Line(level: event.level, message: "\(event.message)", metadata: all)
      log.kept.change { $0.append(line) }
    }
  }
}
