import ArgumentParser
import BothyServer

/// Options of `bothy serve` that set limits. Names, defaults and ranges are those of `ServerLimit`.
protocol LimitOptions: ParsableArguments {
  /// The limits with the texts of their options, or `nil` for options that aren't given.
  var given: [(limit: ServerLimit, text: String?)] { get }
}

extension LimitOptions {
  /// Sets the given limits. Throws `ValidationError` for a value that is not in the range.
  func set(_ bounds: inout ServerBounds) throws {
    for (limit, text) in given {
      guard let text else { continue }
      do { try limit.set(text, in: &bounds) } catch { throw ValidationError(error.description) }
    }
  }

  /// Throws `ValidationError` for a value that is not in its range.
  func check() throws {
    var bounds = ServerBounds()
    try set(&bounds)
  }
}

extension Option where Value == String? {
  /// Declares the option of a limit.
  init(limit: ServerLimit) {
    self.init(
      name: .customLong(limit.name), parsing: .next,
      help: ArgumentHelp(
        "\(limit.about) (default: \(limit.defaultText))", valueName: limit.unit.valueName),
      completion: nil)
  }
}

/// The limits of connections and event streams.
struct ConnectionLimitOptions: LimitOptions {
  @Option(limit: .connections) var connections: String?
  @Option(limit: .addressConnections) var addressConnections: String?
  @Option(limit: .streams) var streams: String?
  @Option(limit: .headerTime) var headerTime: String?
  @Option(limit: .headerSize) var headerSize: String?
  @Option(limit: .bodyTime) var bodyTime: String?
  @Option(limit: .bodyRate) var bodyRate: String?
  @Option(limit: .idleTime) var idleTime: String?
  @Option(limit: .drainTime) var drainTime: String?
  @Option(limit: .shutdownTime) var shutdownTime: String?
  @Option(limit: .notificationInterval) var notificationInterval: String?

  var given: [(limit: ServerLimit, text: String?)] {
    [
      (.connections, connections), (.addressConnections, addressConnections), (.streams, streams),
      (.headerTime, headerTime), (.headerSize, headerSize), (.bodyTime, bodyTime), (.bodyRate, bodyRate),
      (.idleTime, idleTime), (.drainTime, drainTime), (.shutdownTime, shutdownTime),
      (.notificationInterval, notificationInterval),
    ]
  }

  func validate() throws { try check() }
}

/// The limits of requests: their number, rate and size.
struct RequestLimitOptions: LimitOptions {
  @Option(limit: .requests) var requests: String?
  @Option(limit: .pushes) var pushes: String?
  @Option(limit: .queries) var queries: String?
  @Option(limit: .principalRequests) var principalRequests: String?
  @Option(limit: .waiting) var waiting: String?
  @Option(limit: .principalRate) var principalRate: String?
  @Option(limit: .principalBurst) var principalBurst: String?
  @Option(limit: .spaceRate) var spaceRate: String?
  @Option(limit: .spaceBurst) var spaceBurst: String?
  @Option(limit: .bodySize) var bodySize: String?
  @Option(limit: .unpackedSize) var unpackedSize: String?
  @Option(limit: .transferSize) var transferSize: String?
  @Option(limit: .operations) var operations: String?
  @Option(limit: .pushSize) var pushSize: String?
  @Option(limit: .sharingRows) var sharingRows: String?
  @Option(limit: .pulls) var pulls: String?

  var given: [(limit: ServerLimit, text: String?)] {
    [
      (.requests, requests), (.pushes, pushes), (.queries, queries),
      (.principalRequests, principalRequests), (.waiting, waiting), (.principalRate, principalRate),
      (.principalBurst, principalBurst), (.spaceRate, spaceRate), (.spaceBurst, spaceBurst),
      (.bodySize, bodySize), (.unpackedSize, unpackedSize), (.transferSize, transferSize),
      (.operations, operations), (.pushSize, pushSize), (.sharingRows, sharingRows), (.pulls, pulls),
    ]
  }

  func validate() throws { try check() }
}

/// The limits of answers and queries.
struct AnswerLimitOptions: LimitOptions {
  @Option(limit: .answerMegabytes) var answerMegabytes: String?
  @Option(limit: .changes) var changes: String?
  @Option(limit: .queryTime) var queryTime: String?
  @Option(limit: .scanTime) var scanTime: String?
  @Option(limit: .healthTime) var healthTime: String?

  var given: [(limit: ServerLimit, text: String?)] {
    [
      (.answerMegabytes, answerMegabytes), (.changes, changes), (.queryTime, queryTime),
      (.scanTime, scanTime), (.healthTime, healthTime),
    ]
  }

  func validate() throws { try check() }
}

/// The limits of the stored data, and of the connections to the database.
struct StorageLimitOptions: LimitOptions {
  @Option(limit: .recordSize) var recordSize: String?
  @Option(limit: .lists) var lists: String?
  @Option(limit: .memberships) var memberships: String?
  @Option(limit: .blobSize) var blobSize: String?
  @Option(limit: .blobQuota) var blobQuota: String?
  @Option(limit: .history) var history: String?
  @Option(limit: .minimumSchemaVersion) var minimumSchemaVersion: String?
  @Option(limit: .readers) var readers: String?
  @Option(limit: .databaseConnections) var databaseConnections: String?
  @Option(limit: .databasePatience) var databasePatience: String?

  var given: [(limit: ServerLimit, text: String?)] {
    [
      (.recordSize, recordSize), (.lists, lists), (.memberships, memberships), (.blobSize, blobSize),
      (.blobQuota, blobQuota), (.history, history), (.minimumSchemaVersion, minimumSchemaVersion),
      (.readers, readers), (.databaseConnections, databaseConnections),
      (.databasePatience, databasePatience),
    ]
  }

  func validate() throws { try check() }
}

/// The limits of requests to the back end that decides about writes.
struct DecisionLimitOptions: LimitOptions {
  @Option(limit: .decideTime) var decideTime: String?
  @Option(limit: .decideBatch) var decideBatch: String?
  @Option(limit: .decideSize) var decideSize: String?
  @Option(limit: .decideRequests) var decideRequests: String?

  var given: [(limit: ServerLimit, text: String?)] {
    [
      (.decideTime, decideTime), (.decideBatch, decideBatch), (.decideSize, decideSize),
      (.decideRequests, decideRequests),
    ]
  }

  func validate() throws { try check() }
}

/// The limits of requests to the back end that decides about spaces, and of its answers.
struct SpaceLimitOptions: LimitOptions {
  @Option(limit: .spacesTime) var spacesTime: String?
  @Option(limit: .spacesRequests) var spacesRequests: String?
  @Option(limit: .spacesLifetime) var spacesLifetime: String?
  @Option(limit: .spacesRefusalLifetime) var spacesRefusalLifetime: String?
  @Option(limit: .spacesOutageTime) var spacesOutageTime: String?
  @Option(limit: .spacesPrincipals) var spacesPrincipals: String?

  var given: [(limit: ServerLimit, text: String?)] {
    [
      (.spacesTime, spacesTime), (.spacesRequests, spacesRequests), (.spacesLifetime, spacesLifetime),
      (.spacesRefusalLifetime, spacesRefusalLifetime), (.spacesOutageTime, spacesOutageTime),
      (.spacesPrincipals, spacesPrincipals),
    ]
  }

  func validate() throws { try check() }
}

/// The limits of feeds and webhooks.
struct BackEndLimitOptions: LimitOptions {
  @Option(limit: .feedWaits) var feedWaits: String?
  @Option(limit: .webhookDeliveries) var webhookDeliveries: String?
  @Option(limit: .webhookChanges) var webhookChanges: String?
  @Option(limit: .webhookSize) var webhookSize: String?
  @Option(limit: .webhookTime) var webhookTime: String?

  var given: [(limit: ServerLimit, text: String?)] {
    [
      (.feedWaits, feedWaits), (.webhookDeliveries, webhookDeliveries), (.webhookChanges, webhookChanges),
      (.webhookSize, webhookSize), (.webhookTime, webhookTime),
    ]
  }

  func validate() throws { try check() }
}

/// The retention times of unneeded data, and the pace of upkeep. A running server and `bothy admin compact` have them.
struct RetentionOptions: LimitOptions {
  @Option(limit: .keepTombstones) var keepTombstones: String?
  @Option(limit: .keepAcknowledged) var keepAcknowledged: String?
  @Option(limit: .keepOutcomes) var keepOutcomes: String?
  @Option(limit: .keepBlobs) var keepBlobs: String?
  @Option(limit: .upkeepInterval) var upkeepInterval: String?

  var given: [(limit: ServerLimit, text: String?)] {
    [
      (.keepTombstones, keepTombstones), (.keepAcknowledged, keepAcknowledged),
      (.keepOutcomes, keepOutcomes), (.keepBlobs, keepBlobs), (.upkeepInterval, upkeepInterval),
    ]
  }

  func validate() throws { try check() }
}
