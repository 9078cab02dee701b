import ArgumentParser
import BothyHTTP
import BothyInspector
import BothyServer
import BothyStore
import BothySync
import BothySyncService
import Foundation
import HTTPTypes
import Logging

/// `bothy admin page`: shows a server's database and its processes to an operator, in the browser.
///
/// `OperatorReports` explains why the page is apart from the server.
struct AdminPageCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "page",
    abstract: "Shows spaces, devices, refusals, limits, webhooks and upkeep in the browser.",
    discussion: """
      Prints one address when the page is ready. It works once, in one browser, and
      only on this machine. The page reads the database as the other commands of
      `bothy admin` do, and changes nothing in it. With --server it also asks running
      servers for /metrics and /readyz, every five seconds; give the address of each
      process, not that of a proxy in front. Without --database and --server it takes
      ./bothy-server.sqlite. Ends at Ctrl-C.

      To look at a server on another machine, run the command there and forward the
      port: ssh -L 8090:127.0.0.1:8090 host bothy admin page --port 8090 …

      Example:  bothy admin page --database server.sqlite \\
                  --server http://127.0.0.1:8080
                bothy admin page --database postgres://bothy@db.internal/bothy \\
                  --server http://10.0.0.1:8080 --server http://10.0.0.2:8080
      """)

  @Option(
    help: ArgumentHelp(
      "The server's database, as given to `bothy serve`: a file or postgres://….", valueName: "path"),
    completion: .file())
  var database: String?
  @Option(
    help: ArgumentHelp(
      "The folder of its blobs, or s3://bucket/prefix; of a file, PATH-blobs by default.", valueName: "dir"),
    completion: .directory)
  var blobs: String?
  @OptionGroup(title: "Blobs on S3") var s3: S3Options
  @Option(
    name: .customLong("server"), parsing: .singleValue,
    help: ArgumentHelp("The address of a running process; may be repeated.", valueName: "url"))
  var servers: [String] = []
  @Option(help: ArgumentHelp("The port of the page; 0 lets the system choose.", valueName: "n")) var port = 0
  @Flag(help: "Open the page in the browser.") var open = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard (0...65_535).contains(port) else { throw ValidationError("--port is from 0 to 65535.") }
    guard database != nil || servers.isEmpty || blobs == nil else {
      throw ValidationError("--blobs belongs to a --database.")
    }
    for server in servers { _ = try Self.address(server) }
  }

  /// Returns the address of a process without a slash at the end. Throws `ValidationError` for other texts.
  private static func address(_ text: String) throws -> String {
    let trimmed = text.hasSuffix("/") ? String(text.dropLast()) : text
    guard let url = URL(string: trimmed), ["http", "https"].contains(url.scheme?.lowercased()),
      let host = url.host, !host.isEmpty, url.path.isEmpty, url.query == nil, url.user == nil
    else {
      throw ValidationError("'\(text)' isn't the address of a process. Write it like http://127.0.0.1:8080.")
    }
    return trimmed
  }

  func run() async throws {
    let clock = try CLIClock()
    let request = ServerLook()
    let watch = ServerWatch(
      try servers.map(Self.address), now: { clock.now() }, get: { try await request.send($0) })
    guard database != nil || servers.isEmpty else { return try await show(nil, watch, clock) }
    let path = database ?? ServedOptions.standardDatabase
    let served = try await ServedStorage.open(
      reading: path, blobs: ServedBlobs(blobs, s3), logger: Logger(label: "bothy.admin"),
      now: { clock.now() })
    defer {
      // A space may still be counted. The end of the process ends that.
      try? served.closeAll()
    }
    guard let reports = served.storage as? any ServerReports else {
      throw ToolError("This database has no reports for operators.")
    }
    let shown = OperatorReports.Database(
      name: Self.shown(path), storage: reports, blobs: served.blobs, files: served.files,
      now: { clock.now() })
    try await show(shown, watch, clock)
  }

  /// Returns the path or address of a database without a password.
  private static func shown(_ path: String) -> String {
    guard ServedStorage.isPostgres(path), var parts = URLComponents(string: path) else { return path }
    parts.password = nil
    let query = parts.queryItems?.filter { $0.name != "password" } ?? []
    parts.queryItems = query.isEmpty ? nil : query
    // An address that can't be taken apart isn't shown at all.
    return parts.string ?? "postgres://…"
  }

  private func show(
    _ database: OperatorReports.Database?, _ watch: ServerWatch, _ clock: CLIClock
  ) async throws {
    let reports = OperatorReports(database: database, watch: watch, now: { clock.now() })
    var logger = Logger(label: "bothy.operator")
    logger.logLevel = .error
    let subjects = OperatorSubjects(
      look: { await watch.look() }, document: { try await reports.document($0, $1) })
    let page = LoopbackServer(
      InspectorApp(operating: subjects, logger: logger), port: port, logger: logger)
    let running = RunningService(host: "127.0.0.1", port: port, portOption: "--port", logger: logger)
    try await running.show(page, "The operator's page is on", opens: open, output)
  }
}

/// The requests to servers that the page looks at, with three seconds for each.
private struct ServerLook: Sendable {
  private let transport = SystemTransport(compression: true, bodyLimit: 4 << 20)

  /// Throws `BothyError` with a sentence if no response came.
  func send(_ url: String) async throws -> ServerWatch.Response {
    do {
      let response = try await transport.send(TransportRequest(.get, url, timeout: .seconds(3)))
      return ServerWatch.Response(status: response.status, body: response.body)
    } catch {
      throw BothyError(.unreachable, ErrorMessage(error).sentence)
    }
  }
}
