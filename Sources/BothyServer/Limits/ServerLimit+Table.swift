import BothyStore
import BothySyncService

/// The table of all limits, by subject.
extension ServerLimit {
  /// All limits, in the order of their documentation.
  package static let all: [ServerLimit] =
    connectionLimits + requestLimits + answerLimits + recordLimits + storageLimits
    + decisionLimits + spaceLimits + backEndLimits + keepingLimits

  static let connectionLimits = [
    connections, addressConnections, streams, headerTime, headerSize,
    fixed(
      "header-fields", .connections, HeaderLimits.fields, "The fields of a header."),
    fixed(
      "pipelined-requests", .connections, ConnectionPace.pipelined,
      "Requests of a connection that are read before their answers. A proxy needs fewer."),
    fixed(
      "unread-body", .connections, ExchangeHandler.rest, in: .bytes,
      "The bytes of a body that are taken for 30 seconds after its answer, as many callers read no answer before."
    ),
    fixed(
      "heartbeat", .connections, time: Heartbeat.interval,
      "The time between two signs of life on an event stream. Devices rely on it."),
    bodyTime, bodyRate, idleTime, drainTime, shutdownTime, notificationInterval,
  ]

  package static let connections = count(
    "connections", .connections, 1...1_000_000, \.server.connections,
    "Open connections. Further ones are closed at once.")
  package static let addressConnections = count(
    "address-connections", .connections, 1...1_000_000, \.server.addressConnections,
    "Open connections of one address, or of one IPv6 network of 64 bits. Further ones are closed at once. Those of a --proxy are not limited so."
  )
  package static let streams = count(
    "streams", .connections, 1...1_000_000, \.server.streams,
    "Open event streams of one user, or of one address where no tokens are required. Further ones are answered 429."
  )
  package static let headerTime = time(
    "header-time", .connections, 1000...600_000, \.server.headerTime,
    "The time for a connection to send a whole header, and to agree on TLS.")
  package static let headerSize = bytes(
    "header-size", .connections, 8 << 10...1 << 20, \.server.headerSize,
    "The bytes of a request's address and header fields together.")
  package static let bodyTime = time(
    "body-time", .connections, 1000...3_600_000, \.server.bodyTime,
    "The time for a body, without the time that --body-rate adds.")
  package static let bodyRate = bytes(
    "body-rate", .connections, 1...1 << 20, \.server.bodyRate,
    "The bytes of a body for which its time becomes a second longer.")
  package static let idleTime = time(
    "idle-time", .connections, 1000...3_600_000, \.server.idleTimeout,
    "The silence of a connection while a request is read, while its answer is, or between requests.")
  package static let drainTime = time(
    "drain-time", .connections, 0...300_000, \.server.drainTime,
    "The time from SIGTERM to the end of new connections, in which /readyz is 503.")
  package static let shutdownTime = time(
    "shutdown-time", .connections, 1000...3_600_000, \.server.shutdownTime,
    "The time for requests to finish after SIGTERM and --drain-time, longer if --body-time or --scan-time is. Queries that still run are answered 503 then, and other requests end."
  )
  package static let notificationInterval = time(
    "hint-interval", .connections, 0...60_000, \.server.notificationInterval,
    "The least time between two notifications on one event stream. Faster writes are told as one.")
}

extension ServerLimit {
  static let requestLimits = [
    requests, pushes, queries, principalRequests, waiting, principalRate, principalBurst, spaceRate,
    spaceBurst, bodySize, unpackedSize, transferSize, operations, pushSize, sharingRows, pulls,
    fixed(
      "waiting-queries", .requests, RequestTurns.queryLine,
      "Waiting queries of one user, if --waiting allows more. Others have waited too long when their turn comes."
    ),
    fixed(
      "threads", .requests, WorkThreads.most,
      "Threads for requests. The system has no more for one process, so further requests share them."),
    fixed(
      "small-transfer", .requests, BodyReader.small, in: .bytes,
      "The bytes of a body or answer that needs no part of --transfer-size, so that small requests always go on."
    ),
    fixed(
      "secrets-of-request", .requests, FixedLimits.secretsOfRequest,
      "Values of sensitive fields in one request."),
    fixed(
      "references", .requests, FixedLimits.references,
      "Records that the changes of one request refer to. A transaction with more of its own is rejected."),
    fixed("token-size", .requests, JWTVerifier.sizeLimit, in: .bytes, "The bytes of a JSON Web Token."),
    fixed("token-groups", .requests, JWTVerifier.groupLimit, "The groups in a JSON Web Token."),
    fixed("device-name", .requests, FixedLimits.deviceName, in: .bytes, "The bytes of a device's id."),
    fixed(
      "operation-name", .requests, FixedLimits.operationName, in: .bytes, "The bytes of an operation's id."),
  ]

  package static let requests = count(
    "requests", .requests, 1...10_000, \.server.concurrency,
    "Pulls and other short reads at a time. Further ones wait.")
  package static let pushes = count(
    "pushes", .requests, 1...10_000, \.server.pushConcurrency,
    "Pushes and other writes at a time. Further ones wait.")
  package static let queries = count(
    "queries", .requests, 1...1000, \.server.queryConcurrency,
    "Queries, digests, histories and lists at a time. Further ones wait. One user may have half of them."
  )
  package static let principalRequests = count(
    "principal-requests", .requests, 1...10_000, \.server.principalConcurrency,
    default: "processors, 4 at least",
    "Pulls of one user at a time, and as many pushes.")
  package static let waiting = count(
    "waiting", .requests, 0...1_000_000, \.server.waiting,
    "Waiting requests of one user and kind. Further ones are answered 503.")
  package static let principalRate = rate(
    "principal-rate", .requests, \.server.requestsPerSecond,
    "Requests a second of one user, in the long run. Further ones are answered 429.")
  package static let principalBurst = count(
    "principal-burst", .requests, 1...1_000_000, \.server.requestBurst,
    "Requests of one user at once, after a pause.")
  package static let spaceRate = rate(
    "space-rate", .requests, \.server.spaceRequestsPerSecond,
    "Requests a second to one space, of all users. Further ones are answered 429.")
  package static let spaceBurst = count(
    "space-burst", .requests, 1...1_000_000, \.server.spaceRequestBurst,
    "Requests to one space at once, after a pause.")
  package static let bodySize = bytes(
    "body-size", .requests, 1 << 20...256 << 20, \.server.bodySize, "The bytes of a body, unpacked.")
  package static let unpackedSize = bytes(
    "unpacked-size", .requests, 1 << 20...16 << 30, \.server.unpackedSize,
    "The bytes of all unpacked bodies together, half of them for one user.")
  package static let transferSize = bytes(
    "transfer-size", .requests, 8 << 20...64 << 30, \.server.transferSize,
    "The bytes of all bodies and answers over 64K that are on their way, an eighth of them for one user, or one larger answer. An answer counts three times while it is made, and has fewer records where room is short. Others are answered 503."
  )
  package static let operations = count(
    "operations", .requests, 1000...100_000, \.rules.operationLimit, "Operations in one request.")
  package static let pushSize = bytes(
    "push-size", .requests, 8 << 20...4 << 30, \.rules.pushSize,
    "The bytes of stored records that one request changes. Operations beyond it are sent again with the next. A transaction with more of its own is rejected."
  )
  package static let sharingRows = count(
    "sharing-rows", .requests, 1000...10_000_000, \.rules.sharingRowLimit,
    "Rows by which one request changes who sees what: one for each record and user that gains or loses it, a list and its members included. Further ones are answered 413. A list that is alone in its request may lose any members, and a record any one list."
  )
  package static let pulls = count(
    "pulls", .requests, 64...10_000, \.rules.pullLimit, "Places that one request pulls from.")
}

extension ServerLimit {
  static let answerLimits = [
    answerMegabytes, changes, queryTime, scanTime, healthTime,
    fixed("conditions", .answers, FixedLimits.conditions, "Conditions of a query."),
    fixed("condition-depth", .answers, ConditionTree.maximumDepth, "Levels of nested conditions."),
    fixed("condition-values", .answers, ConditionTree.maximumTerms, "Values of a list in a condition."),
    fixed(
      "contained-text", .answers, FixedLimits.containedText, in: .bytes,
      "The bytes of a text that a condition looks for within others."),
    fixed("sort-keys", .answers, FixedLimits.sortKeys, "Sort keys of a query."),
    fixed("digest-parts", .answers, SyncService.partLimit, "Parts of a digest."),
    fixed("history-page", .answers, SyncService.historyPageLimit, "Changes on one page of the history."),
    fixed(
      "joined-lists", .answers, SyncService.joinedListLimit,
      "Lists that name the caller in one answer. Others are named when it has left some."),
    fixed(
      "list-pages", .answers, ServerServices.listPages,
      "Times --answer-megabytes that one answer with all lists of a user has at most. Larger ones are 413."),
    fixed(
      "hidden-changes", .answers, AccessRules().hiddenRowLimit,
      "Changes that its user can't see and that one answer reads, each 4K of one counting as another. The rest follows with the next."
    ),
    fixed(
      "cursor-size", .answers, QueryCursor.longest, in: .bytes,
      "The bytes of the cursor of a query. A client continues by an offset where sort values are longer."),
    fixed(
      "wanted-blobs", .answers, FixedLimits.wantedBlobsReported, "Missing blobs that one answer requests."),
    fixed(
      "tile-size", .answers, TileHandler.unpackedLimit, in: .bytes,
      "The bytes of a compressed tile that is given out unpacked."),
  ]

  package static let healthTime = time(
    "health-time", .answers, 100...60_000, \.server.healthTime,
    "The time for the database to answer to /healthz and /readyz. Then they are 503.")
  package static let answerMegabytes = megabytes(
    "answer-megabytes", .answers, 1...1024, \.rules.answerSize,
    "About how many megabytes of records one answer brings. The rest follows with the next.")
  package static let changes = count(
    "changes", .answers, 100...100_000, \.rules.pageLimit,
    "Changes in one answer, and records in that of a query, 1000 of which are always possible.")
  package static let queryTime = time(
    "query-time", .answers, 100...600_000, \.rules.queryTime,
    "The time of one query. Longer ones are ended with 503.")
  package static let scanTime = time(
    "scan-time", .answers, 1000...3_600_000, \.rules.scanTime,
    "The time of one digest or list of containers. Longer ones are ended with 503.")
}

extension ServerLimit {
  static let recordLimits = [
    recordSize, lists, memberships, blobSize, blobQuota, history, minimumSchemaVersion,
    fixed("value-depth", .records, JSONReader.maximumValueDepth, "Levels of nested values in a field."),
    fixed("audience", .records, FixedLimits.audience, "Users and lists that a record is shared with."),
    fixed("list-members", .records, UserList.memberLimit, "Members of a list."),
    fixed(
      "space-wanted-blobs", .records, FixedLimits.wantedBlobs,
      "Missing blobs of a space that the requests of readers note. Further ones replace the oldest."),
    fixed(
      "device-positions", .records, FixedLimits.devicePositions,
      "Places whose positions are noted of the devices of one user in a space. Tombstones are not kept longer for further ones."
    ),
    fixed(
      "history-names", .records, FixedLimits.historyNames, in: .bytes,
      "The bytes of the names of fields that are remembered of one change. Further names are left out."),
    fixed(
      "secrets-of-record", .records, FixedLimits.secretsOfRecord, "Values of sensitive fields of a record."),
    fixed("space-name", .records, FixedLimits.spaceName, in: .bytes, "The bytes of a space's name."),
    fixed("type-name", .records, FixedLimits.typeName, in: .bytes, "The bytes of a type's name."),
    fixed("record-id", .records, FixedLimits.recordID, in: .bytes, "The bytes of a record's id."),
    fixed(
      "container-path", .records, FixedLimits.containerPath, in: .bytes, "The bytes of a container's path."),
  ]

  package static let recordSize = bytes(
    "record-size", .records, 1 << 10...64 << 20, \.rules.recordSizeLimit, "The bytes of one record's fields.")
  package static let lists = count(
    "lists", .records, 100...100_000, \.rules.listLimit,
    "Lists of a space that name one user or group, an eighth of them of one owner. Requests that name it in more are answered 413. Lists from before stay."
  )
  package static let memberships = count(
    "memberships", .records, 100...100_000, \.rules.membershipLimit,
    "Records of a type that make one user or group a member by a condition of permissions. Those that have ended don't count. Requests that add more are answered 413. Records from before stay."
  )
  package static let blobSize = blobs(
    "blob-size", 1 << 20...1 << 40, "The bytes of one blob.", read: \.largest, write: { $0.largest = $1 })
  package static let blobQuota = blobs(
    "blob-quota", 1 << 20...1 << 50,
    "The bytes of all blobs of a space, 4K for a smaller one. Further ones are answered 507.",
    read: \.quota, write: { $0.quota = $1 })
  package static let history = count(
    "history", .records, 0...10_000_000, \.rules.historyLimit,
    "Changes of a space that are remembered with their user and time.")
  package static let minimumSchemaVersion = count(
    "minimum-schema-version", .records, 0...Int(Int32.max), \.rules.minimumSchemaVersion,
    "The lowest schema version whose devices may sync. Others must update.")
}

extension ServerLimit {
  static let storageLimits = [readers, databaseConnections, databasePatience]

  package static let readers = count(
    "readers", .storage, 1...64, \.database.readers, default: "twice the processors, 8 at least",
    "Connections to a SQLite file for short reads. With more than --principal-requests no user delays the others. Those for queries are separate."
  )
  package static let databaseConnections = count(
    "database-connections", .storage, 1...200, \.database.connections,
    "Connections to PostgreSQL for writes, and as many for reads. Those for queries are separate.")
  package static let databasePatience = time(
    "database-patience", .storage, 0...600_000, \.database.patience,
    "The time for which a request waits for PostgreSQL while it is unavailable.")
}

extension ServerLimit {
  static let decisionLimits = [
    decideTime, decideBatch, decideSize, decideRequests,
    fixed(
      "decide-answer-size", .decisions, WriteCallout.Limits().answerSize, in: .bytes,
      "The bytes of an answer of the back end."),
    fixed(
      "decide-rounds", .decisions, FixedLimits.decisionRounds,
      "The times that changes of one request are sent to the back end. Undecided ones wait for the next request."
    ),
    fixed(
      "refusal-message", .decisions, FixedLimits.refusalMessage, in: .bytes,
      "The bytes of the message of a refusal by the back end."),
    fixed(
      "refusal-fields", .decisions, FixedLimits.refusalFields, "The fields of a refusal by the back end."),
  ]

  package static let decideTime = time(
    "decide-time", .decisions, 50...30_000, \.decisions.time, "The time for an answer of the back end.")
  package static let decideBatch = count(
    "decide-batch", .decisions, 1...1000, \.decisions.operations,
    "Changes in one request to the back end. More are sent in further requests.")
  package static let decideSize = bytes(
    "decide-size", .decisions, 1 << 10...64 << 20, \.decisions.requestSize,
    "The approximate bytes of one request to the back end. A single change is never divided.")
  package static let decideRequests = count(
    "decide-requests", .decisions, 1...256, \.decisions.requests,
    "Requests to the back end at a time. Four times as many wait.")
}

extension ServerLimit {
  static let spaceLimits = [
    spacesTime, spacesRequests, spacesLifetime, spacesRefusalLifetime, spacesOutageTime, spacesPrincipals,
    fixed(
      "spaces-answer-size", .spaces, SpaceAnswer.size, in: .bytes,
      "The bytes of an answer about the spaces of a user."),
    fixed("spaces-of-user", .spaces, SpaceAnswer.spaces, "The spaces of one user."),
  ]

  package static let spacesTime = time(
    "spaces-time", .spaces, 50...30_000, \.spaces.time,
    "The time for an answer about the spaces of a user. Without one, requests are answered 503, or as --spaces-outage-time says."
  )
  package static let spacesRequests = count(
    "spaces-requests", .spaces, 1...256, \.spaces.requests,
    "Requests about spaces at a time, one for each user. A thousand wait.")
  package static let spacesLifetime = time(
    "spaces-lifetime", .spaces, 1000...86_400_000, \.spaces.lifetime,
    "The time for which an answer opens its spaces. One that is withdrawn is closed after it.")
  package static let spacesRefusalLifetime = time(
    "spaces-refusal-lifetime", .spaces, 0...3_600_000, \.spaces.refusalLifetime,
    "The time for which a space that is not in an answer stays closed.")
  package static let spacesOutageTime = time(
    "spaces-outage-time", .spaces, 0...604_800_000, \.spaces.outageTime,
    "The time for which an answer opens its spaces while no newer one comes. Requests are answered 503 after it."
  )
  package static let spacesPrincipals = count(
    "spaces-principals", .spaces, 100...1_000_000, \.spaces.principals,
    "Users whose spaces are kept in memory.")
}

/// The limits of a header that no option changes.
enum HeaderLimits {
  static let fields = 200
}

extension ServerLimit {
  static let backEndLimits = [
    feedWaits, webhookDeliveries, webhookChanges, webhookSize, webhookTime,
    fixed(
      "feed-spaces", .backEnds, ServerServices.spacesLimit,
      "Spaces in one answer of the list of spaces, 100 of them for a token that names its spaces."),
    fixed(
      "webhook-pause", .backEnds, time: WebhookVerdict.longestWait,
      "The longest pause that a receiver may ask for. It can't stop a webhook for longer."),
    fixed(
      "key-set-pause", .backEnds, time: .milliseconds(KeySetSchedule.pause),
      "The time between two requests for a key set, so that unknown keys in tokens don't burden its server."),
    fixed(
      "key-set-age", .backEnds, time: .milliseconds(KeySetSchedule.longest),
      "The time for which keys are used while their server doesn't answer."),
    fixed(
      "waiting-spans", .backEnds, TraceExporter.capacity,
      "Spans that wait for the collector. Further ones are dropped and counted."),
    fixed("feed-page", .backEnds, SyncService.feedLimit, "Changes on one page of a feed."),
    fixed(
      "feed-wait", .backEnds, 1000 * FeedWaits.longest, in: .time,
      "The time for which one request of a feed waits for a change."),
  ]

  package static let feedWaits = count(
    "feed-waits", .backEnds, 1...100_000, \.server.feedWaits,
    "Requests of feeds that wait for a change at a time. Further ones are answered 503.")
  package static let webhookDeliveries = count(
    "webhook-deliveries", .backEnds, 1...256, \.webhooks.width,
    "Spaces that are delivered to one webhook at a time. After three failures in a row it is one.")
  package static let webhookChanges = count(
    "webhook-changes", .backEnds, 1...1000, \.webhooks.changes,
    "Changes in one delivery. More are sent in further ones.")
  package static let webhookSize = bytes(
    "webhook-size", .backEnds, 64 << 10...64 << 20, \.webhooks.bytes,
    "The approximate bytes of the records of one delivery. A single record is never divided.")
  package static let webhookTime = time(
    "webhook-time", .backEnds, 1000...300_000, \.webhooks.timeout,
    "The time for an answer of a receiver. A later one counts as a failure.")
}

extension ServerLimit {
  static let keepingLimits = [
    keepTombstones, keepAcknowledged, keepOutcomes, keepBlobs, upkeepInterval,
    fixed(
      "upkeep-rate", .keeping, UpkeepPace(interval: 0).perSecond,
      "Spaces a second that one process looks after. Further ones are due until then."),
    fixed(
      "idle-upload", .keeping, time: .milliseconds(BlobLimits.idleUpload),
      "The time after which an unfinished upload makes room for another one, if --blob-quota has none."),
    fixed(
      "unused-blobs", .keeping, time: ServerConfiguration.Limits().unusedBlobAge,
      "The time for unfinished uploads, and for blobs of which no record came. Devices rely on a day."),
  ]

  package static let keepTombstones = milliseconds(
    "keep-tombstones", .keeping, 0...RetentionPolicy.longest, \.retention.tombstoneAge,
    "The time for which tombstones are kept. A device that was away longer starts over.")
  package static let keepAcknowledged = milliseconds(
    "keep-acknowledged", .keeping, 0...RetentionPolicy.longest, \.retention.acknowledgedAge,
    "The time for which tombstones are kept that every device in use has. --keep-tombstones if that is less.")
  package static let keepOutcomes = milliseconds(
    "keep-outcomes", .keeping, RetentionPolicy.day...RetentionPolicy.longest, \.retention.outcomeAge,
    "The time for which outcomes of operations are kept. Devices rely on a day.")
  package static let keepBlobs = milliseconds(
    "keep-blobs", .keeping, 2 * RetentionPolicy.day...RetentionPolicy.longest, \.retention.blobGrace,
    "The time for which blobs are kept that no record names. Devices rely on a day.")
  package static let upkeepInterval = milliseconds(
    "upkeep-interval", .keeping, 1000...RetentionPolicy.longest, \.retention.interval,
    "The least time between two upkeeps of a space.")
}
