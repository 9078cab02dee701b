import BothyStore
package import BothySyncService
import Foundation

/// The documents of the operator's page: what a database and running servers tell an operator, as JSON.
///
/// The page is a program of its own, `bothy admin page`, and no part of the server. So the server gets no new route, no
/// new group and no new port that members could reach. The page listens on 127.0.0.1 of the operator's machine behind an
/// address that works once. It reads the database with the operator's own rights, like all commands of `bothy admin`,
/// and requests of servers only what any monitor does: `/metrics` and `/readyz`. It changes nothing.
///
/// No document has content of records. Names of spaces, devices, users and containers are in them.
package struct OperatorReports: Sendable {
  /// The database, and where its files are.
  package struct Database: Sendable {
    /// Its path or address, without a password.
    package var name: String
    package var storage: any ServerReports
    package var blobs: (any BlobFileStorage)?
    package var files: StorageFiles
    let counts: SpaceCounts

    /// - Parameter patience: the longest time that a list of spaces waits for its counts.
    package init(
      name: String, storage: any ServerReports, blobs: (any BlobFileStorage)?, files: StorageFiles,
      patience: Duration = .milliseconds(800), now: @escaping @Sendable () -> Int64
    ) {
      (self.name, self.storage, self.blobs, self.files) = (name, storage, blobs, files)
      counts = SpaceCounts(storage, blobs: blobs, patience: patience, now: now)
    }
  }

  let database: Database?
  let watch: ServerWatch
  let recent = RecentReports()
  let now: @Sendable () -> Int64

  /// - Parameters:
  ///   - database: the database, or `nil` if the page has servers only.
  ///   - watch: the servers, of which there may be none.
  package init(database: Database?, watch: ServerWatch, now: @escaping @Sendable () -> Int64) {
    (self.database, self.watch, self.now) = (database, watch, now)
  }

  /// The names of all documents.
  package static let names = [
    "overview", "spaces", "space", "refusals", "limits", "webhooks", "upkeep", "storage", "servers",
  ]

  /// Returns a document, or `nil` for an unknown name. Unknown parameters are ignored.
  ///
  /// Throws `BothyError`: `.unreachable` if the database doesn't answer, `.notFound` for a missing space.
  package func document(_ name: String, _ parameters: [String: String]) async throws -> [UInt8]? {
    do {
      switch name {
      case "overview": return try await overview()
      case "spaces": return try await spaces(parameters)
      case "space": return try await space(parameters)
      case "refusals": return await refusals()
      case "limits": return await limits()
      case "webhooks": return try await webhooks()
      case "upkeep": return try await upkeep(parameters)
      case "storage": return await storage()
      case "servers": return await servers()
      default: return nil
      }
    } catch let error as StorageUnavailable {
      throw BothyError(.unreachable, "\(error.reason.rawValue) The page tries again by itself.")
    }
  }

  /// Returns an object with the time, and the members that `write` adds.
  func object(_ write: (inout JSONWriter) throws -> Void) rethrows -> [UInt8] {
    var writer = JSONWriter(reserving: 4096)
    try writer.object { writer in
      writer.member("now", now())
      writer.member("database", database?.name)
      try write(&writer)
    }
    return writer.bytes
  }

  /// Returns a command with the option for the database.
  func command(_ words: String, _ arguments: String...) -> String? {
    database.map { database in
      (["bothy admin \(words) --database", Self.quoted(database.name)] + arguments.map(Self.quoted))
        .joined(separator: " ")
    }
  }

  /// Returns a text as one word of a shell, for which a quotation mark ends a word also before an accent.
  package static func quoted(_ text: String) -> String {
    let isPlain = text.unicodeScalars.allSatisfy {
      $0.isASCII
        && ($0.properties.isAlphabetic || $0.properties.numericType != nil
          || "-_./:@%+=,".unicodeScalars.contains($0))
    }
    guard !isPlain || text.isEmpty || text.hasPrefix("-") else { return text }
    return "'" + text.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
  }
}

/// Answers that are costly to make, remembered for some seconds.
actor RecentReports {
  private static let age = Duration.seconds(15)
  private var webhooks: (lines: [WebhookLine], at: ContinuousClock.Instant)?
  private var spaces: (count: Int, at: ContinuousClock.Instant)?

  /// Returns the progress of all webhooks.
  func webhooks(_ storage: any ServerReports) async throws -> [WebhookLine] {
    if let webhooks, ContinuousClock.now - webhooks.at < Self.age { return webhooks.lines }
    var lines: [WebhookLine] = []
    for name in try await (storage as? any FeedStorage)?.webhooks() ?? [] {
      lines.append(try await storage.webhook(name, limit: 50))
    }
    webhooks = (lines, .now)
    return lines
  }

  /// Returns the number of spaces.
  func spaceCount(_ storage: any ServerReports) async throws -> Int {
    if let spaces, ContinuousClock.now - spaces.at < Self.age { return spaces.count }
    let count = try await storage.spaceCount()
    spaces = (count, .now)
    return count
  }
}
