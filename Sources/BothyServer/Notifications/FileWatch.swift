package import Logging
import ServiceLifecycle
import Synchronization

/// Reads files again when they change. Checks every second if they have.
///
/// A failure is logged once for each change, and what was read before stays in force.
package struct FileWatch: Service {
  private let paths: [String]
  private let subject: String
  private let logger: Logger
  private let reload: @Sendable () throws -> Void
  private let stamps: Stamps
  private let interval = Duration.seconds(1)

  private final class Stamps: Sendable {
    let seen: Mutex<[FileVersion?]>
    init(_ stamps: [FileVersion?]) { seen = Mutex(stamps) }
  }

  /// - Parameters:
  ///   - subject: what the files have, as the subject of a log line in the singular.
  ///   - reload: reads the files, and throws if they can't be used.
  package init(
    _ paths: [String], subject: String, logger: Logger, reload: @escaping @Sendable () throws -> Void
  ) {
    self.init(paths, since: Self.stamps(of: paths), subject: subject, logger: logger, reload: reload)
  }

  /// - Parameter versions: those of the files before they were read. A change since then is noticed too.
  init(
    _ paths: [String], since versions: [FileVersion?], subject: String, logger: Logger,
    reload: @escaping @Sendable () throws -> Void
  ) {
    self.paths = paths
    self.subject = subject
    self.logger = logger
    self.reload = reload
    stamps = Stamps(versions)
  }

  package func run() async throws {
    try await repeating(after: { interval }) { look() }
  }

  package func look() {
    let found = Self.stamps(of: paths)
    let isNew = stamps.seen.withLock { seen in
      defer { seen = found }
      return seen != found
    }
    guard isNew else { return }
    do {
      try reload()
      logger.notice("\(subject) was read again")
    } catch {
      logger.error(
        "\(subject) can't be read again; what was read before stays in force",
        metadata: ["error": "\(error)"])
    }
  }

  static func stamps(of paths: [String]) -> [FileVersion?] { paths.map { FileVersion(path: $0) } }
}
