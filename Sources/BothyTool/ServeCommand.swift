import ArgumentParser
import BothyServer
import BothyStore
import BothySync
import BothySyncService
import Foundation
import Logging

/// `bothy serve`: the server, self-contained on one SQLite file.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serves spaces over HTTP from SQLite or PostgreSQL, until interrupted.",
    discussion: """
      Prints one line with its address when it is ready. Without --tokens, --jwt-keys
      or --jwt-secret everybody who can reach the address may read and write every
      space, so keep it on this machine then. Make a tokens file:
        bothy admin token create tokens.json --principal ada --space home
      Without tokens a server answers under IP addresses, localhost and --host only;
      --allow-host adds names.

      JSON Web Tokens are signed by RSA, ECDSA, EdDSA or HS256, have an exp, and name
      the user, its groups and its spaces by claims. Files of tokens, keys, secrets,
      schemas and certificates are read again when they change, keys at an address
      when their time is over. A file that can't be used, and a schema that devices
      or records don't fit, is refused with a log line; what was read before stays
      in force.

      With --schema records are checked against it, its permissions hold, values of
      unique fields are unique in their space, and what refers to a record that is
      not there is rejected (--no-check-references takes it). With --older-schema
      devices of older versions of the app go on: what they could not live with is
      refused at the start.

      --limits prints every limit with its value. SIGINT and SIGTERM let requests
      that are under way finish, within --shutdown-time. The API describes itself
      at /openapi.json.

      With --database postgres://… any number of processes may serve the same spaces.
      They make the tables where they are missing (schema `bothy`), tell each other
      of news, and wait for a database that restarts; /readyz says when it is away.
      Keep a password out of the address: PGPASSWORD or ~/.pgpass hold it. Blobs need
      a folder that all processes share then, or a bucket: --blobs.

      --replica postgres://… names a streaming standby of that database. It answers
      pulls and queries when it has all that the database had as they came. The
      database answers while it is behind or away; /readyz and /metrics say so.

      --blobs s3://bucket/prefix keeps blobs on S3, or on any storage that speaks
      its protocol: --s3-endpoint. The key is in AWS_ACCESS_KEY_ID,
      AWS_SECRET_ACCESS_KEY and, for a temporary one, AWS_SESSION_TOKEN: in the
      environment, or in the lines of a file --s3-key.

      --feed-group lets back ends read all changes of a space in their order, at
      /v1/spaces/NAME/feed. --webhook sends them, signed and in the order of each
      space, until the receiver has answered with 2xx; `bothy admin webhooks` shows
      how far it is.

      --tiles serves the files of a folder: MBTiles and PMTiles archives, each a
      source named by its file, and folders of tiles, NAME/16/18109/23965.json, with
      names such as 16_18109_23965.json or by quadkey too. /tiles lists the sources,
      /tiles/NAME.json is the TileJSON document of one, /tiles/NAME/{z}/{x}/{y} are
      its tiles, and /tiles/NAME.pmtiles is an archive for readers of byte ranges.
      Where tokens are asked for they are for tiles too, unless --open-tiles is
      given.

      With --decide URL your own back end decides about every change that the schema
      and the permissions accept, before it is made: accept it, set other fields, or
      refuse it with a reason. The requests are signed like webhooks. While no
      decision comes, changes are answered 503 and devices send them again later.

      With --spaces-from URL it decides which spaces the user of a JSON Web Token
      may read and write. Answers are kept for --spaces-lifetime. While none comes,
      they hold for --spaces-outage-time; without one, requests are answered 503.

      Example:  bothy serve --port 8080 --database home.sqlite --tokens tokens.json
                bothy serve --jwt-audience bothy --jwt-spaces 'user-{sub}' \\
                  --tls-certificate fullchain.pem --tls-key key.pem \\
                  --jwt-keys https://id.example.org/.well-known/openid-configuration
                bothy serve --tiles ./maps
                bothy serve --webhook https://billing.example.org/bothy \\
                  --webhook-secret billing.secret --webhook-spaces 'team-*'
      """)

  @Option(help: ArgumentHelp("The port; 0 lets the system choose.", valueName: "n")) var port = 8080
  @Option(help: ArgumentHelp("The address to listen on.", valueName: "name")) var host = "127.0.0.1"
  @Option(
    help: ArgumentHelp(
      "The file that keeps all spaces, or postgres://user@host/database.", valueName: "path"),
    completion: .file())
  var database = "./bothy-server.sqlite"
  @Option(
    help: ArgumentHelp(
      "A streaming standby of --database that answers pulls and queries; may be repeated.", valueName: "url"))
  var replica: [String] = []
  @Option(
    help: ArgumentHelp(
      "The folder of the blobs, or s3://bucket/prefix; of a file, PATH-blobs by default.", valueName: "dir"),
    completion: .directory)
  var blobs: String?
  @OptionGroup(title: "Blobs on S3") var s3: S3Options
  @Flag(help: "Refuse to start while the database misses steps of `bothy admin migrate`.")
  var noMigrate = false
  @Option(help: ArgumentHelp("Check records against this schema.", valueName: "file"), completion: .file())
  var schema: String?
  @Option(
    help: ArgumentHelp(
      "The schema of an older app that is still in use; may be repeated.", valueName: "file"),
    completion: .file())
  var olderSchema: [String] = []
  @Option(
    help: ArgumentHelp(
      "A field of an older schema that is gone and was not renamed; may be repeated.", valueName: "type.field"
    ))
  var removedField: [String] = []
  @Flag(help: "Take changes that refer to records which the space has not; the schema is checked otherwise.")
  var noCheckReferences = false
  @Option(
    help: ArgumentHelp("Serve the tiles that lie in a folder.", valueName: "dir"), completion: .directory)
  var tiles: String?
  @Option(
    help: ArgumentHelp(
      "How long a copy of a tile may be used before it is requested again.", valueName: "time"))
  var tilesMaxAge = "7d"
  @Flag(help: "Give tiles to all callers, also where tokens are required.") var openTiles = false
  @Option(help: "From which level on logs are written to standard error.") var logLevel = Logger.Level.info
  @OptionGroup(title: "Traces") var traces: TraceOptions
  @OptionGroup(title: "Keeping") var keeping: RetentionOptions
  @Flag(help: "Print all limits with the values of the other options, and end.") var limits = false
  @OptionGroup(title: "Access") var access: AccessOptions
  @OptionGroup(title: "Limits of connections") var connectionLimits: ConnectionLimitOptions
  @OptionGroup(title: "Limits of requests") var requestLimits: RequestLimitOptions
  @OptionGroup(title: "Limits of answers") var answerLimits: AnswerLimitOptions
  @OptionGroup(title: "Limits of the storage") var storageLimits: StorageLimitOptions
  @OptionGroup(title: "Decisions") var decisions: DecisionOptions
  @OptionGroup(title: "Limits of decisions") var decisionLimits: DecisionLimitOptions
  @OptionGroup(title: "Spaces") var spaces: SpaceOptions
  @OptionGroup(title: "Limits of spaces") var spaceLimits: SpaceLimitOptions
  @OptionGroup(title: "Back ends") var backEnds: BackEndOptions
  @OptionGroup(title: "Limits of back ends") var backEndLimits: BackEndLimitOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard (0...65_535).contains(port) else { throw ValidationError("--port is from 0 to 65535.") }
    guard maxAge != nil else {
      throw ValidationError("--tiles-max-age is a time such as 7d, 12h or 0s.")
    }
    if !replica.isEmpty, !ServedStorage.isPostgres(database) {
      throw ValidationError("--replica needs a --database on PostgreSQL, whose standby it names.")
    }
    guard replica.allSatisfy(ServedStorage.isPostgres) else {
      throw ValidationError("--replica is an address such as postgres://user@host/database.")
    }
    guard spaces.spacesFrom == nil || access.takesWebTokens else {
      throw ValidationError("--spaces-from needs --jwt-keys, --jwt-secret or a --jwt-issuer with https://.")
    }
    let bounds = try bounds()
    guard bounds.rules.recordSizeLimit <= bounds.server.bodySize else {
      throw ValidationError("--record-size is at most --body-size, as a body has at least one record.")
    }
  }

  /// Returns the limits by all options.
  private func bounds() throws -> ServerBounds {
    var bounds = ServerBounds()
    let groups: [any LimitOptions] = [
      connectionLimits, requestLimits, answerLimits, storageLimits, spaceLimits,
      decisionLimits, backEndLimits, keeping,
    ]
    for group in groups { try group.set(&bounds) }
    if connectionLimits.shutdownTime == nil {
      let longest = max(bounds.server.bodyTime, bounds.rules.scanTime)
      bounds.server.shutdownTime = max(bounds.server.shutdownTime, longest)
    }
    bounds.retention = bounds.retention.bounded
    return bounds
  }

  private var maxAge: Duration? { CLIClock.offset("+" + tilesMaxAge).map { .milliseconds($0) } }

  func run() async throws {
    let bounds = try bounds()
    if limits {
      return try output.print {
        ServerLimit.text(bounds)
      } json: {
        $0.key("limits")
        ServerLimit.write(bounds, to: &$0)
      }
    }
    let clock = try CLIClock()
    let served = try await ServedStorage.open(
      database, replicas: replica, blobs: ServedBlobs(blobs, s3), bounds: bounds, migrates: !noMigrate,
      logger: logger(), now: { clock.now() })
    // Closing writes SQLite's log into the file, which is then the complete database.
    try await Opened.use(served, { try await serve($0, bounds, clock) }, close: { try $0.closeAll() })
  }

  private func serve(_ served: ServedStorage, _ bounds: ServerBounds, _ clock: CLIClock) async throws {
    let configuration = try await serverConfiguration(served, bounds, clock)
    served.passNews(to: configuration.notifications, logger())
    served.useReplicas(logger())
    // Archives are checked in the background, so a slow check delays nothing else.
    let check = Task { [tiles = configuration.tiles] in
      for problem in await tiles?.problems() ?? [] { StandardStreams.note(problem) }
    }
    defer { check.cancel() }
    let server = BothyServer(configuration)
    let output = output
    var running = RunningService(host: host, port: port, portOption: "--port", logger: logger())
    // A moment more, for the answers to requests that end with the time.
    running.shutdownTime = bounds.server.drainTime + bounds.server.shutdownTime + .seconds(2)
    try await running.run(server) {
      // If the server fails to start, its own task reports why.
      guard let address = try? await server.ready() else { return }
      try output.print {
        "Serving on \(address.url)"
      } json: {
        $0.member("url", address.url)
      }
    }
  }

  private func serverConfiguration(
    _ served: ServedStorage, _ bounds: ServerBounds, _ clock: CLIClock
  ) async throws -> ServerConfiguration {
    var rules = bounds.rules
    let schemaFiles = schema.map {
      SchemaFiles(
        newest: $0, older: olderSchema, removed: Set(removedField), read: { try StandardStreams.read($0) })
    }
    rules.schema = try schemaFiles?.schema()
    rules.checksReferences = !noCheckReferences
    try await served.adoptSecrets()
    rules.receiveSecrets = served.secretReceiver
    rules.secretVault = served.secrets
    rules.secretStaging = served.secrets
    try await SyncService(storage: served.storage, rules: rules, now: { clock.now() }).recoverSecrets()
    let decideSecret = try decisions.set(&rules, bounds.decisions, now: { clock.now() })
    let spaces = try spaces.callout(bounds.spaces, now: { clock.now() })
    let control = try await access.control(spaces?.callout) { clock.now() }
    if control == nil, !["127.0.0.1", "::1", "localhost"].contains(host) {
      StandardStreams.note(
        "Everybody who can reach \(host) may read and write every space. Give --tokens or --jwt-keys to say who may."
      )
    }
    let library = try tiles.map {
      try TileFolder(folder: $0, maxAge: maxAge ?? .zero, isOpen: openTiles)
    }
    var configuration = ServerConfiguration(
      host: host, port: port, storage: served.storage, rules: rules, blobs: served.blobs, tiles: library,
      access: control, tls: access.tls, limits: bounds.server, logger: logger(), now: { clock.now() })
    configuration.upkeep = bounds.retention
    configuration.bounds = bounds
    configuration.schemaFiles = schemaFiles
    configuration.watchedFiles = [decideSecret, spaces?.secret, s3.watch(served.blobs)].compactMap(\.self)
    configuration.files = served.files
    try backEnds.set(&configuration, bounds.webhooks, database: database)
    configuration.allowedHosts = access.allowHost
    if !access.proxy.isEmpty { configuration.proxies = access.proxy }
    configuration.auditLogger.logLevel = logLevel
    try traces.set(&configuration)
    return configuration
  }

  private func logger() -> Logger {
    var logger = Logger(label: "bothy.server")
    logger.logLevel = logLevel
    return logger
  }
}
