import ArgumentParser
import BothyCache
import BothyGeo
import BothyHTTP
import BothyInspector
import BothyStore
import BothySync
import Foundation
import Logging

/// `bothy inspect`: shows the contents of this device on a page in the browser.
struct InspectCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Shows a database in the browser: records, pending and rejected changes, caches, the map.",
    discussion: """
      Prints one address when the page is ready. It works once, in one browser, and
      only on this machine. The page follows what any process changes, and takes
      decisions about what the server rejected; nothing is synced unless you ask for
      it there. Ends at Ctrl-C.

      --open hands the address to the browser as an argument, where others who are
      logged in to this machine can read it: on a shared machine, open the address
      that is printed yourself.

      Example:  bothy inspect notes.bothy
                bothy inspect notes.bothy --open
                bothy inspect trips.bothy --cache ./bothy-cache \\
                  --places oslo.places --settings app.bothy --packs ./packs
      """)

  @OptionGroup var database: DatabaseOptions
  @Option(help: ArgumentHelp("The port of the page; 0 lets the system choose.", valueName: "n")) var port = 0
  @Option(
    name: .customLong("cache"), parsing: .singleValue,
    help: ArgumentHelp("A cache's folder; may be repeated.", valueName: "dir"), completion: .directory)
  var caches: [String] = []
  @Option(
    name: .customLong("places"), parsing: .singleValue,
    help: ArgumentHelp("A file of places; may be repeated.", valueName: "file"), completion: .file())
  var places: [String] = []
  @Option(
    name: .customLong("settings"), parsing: .singleValue,
    help: ArgumentHelp("A file of settings besides the database; may be repeated.", valueName: "file"),
    completion: .file())
  var settings: [String] = []
  @Option(
    name: .customLong("packs"), parsing: .singleValue,
    help: ArgumentHelp("A pack, or a folder of packs; may be repeated.", valueName: "dir"),
    completion: .directory)
  var packs: [String] = []
  @Flag(help: "Open the page in the browser.") var open = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard (0...65_535).contains(port) else { throw ValidationError("--port is from 0 to 65535.") }
  }

  func run() async throws {
    for folder in packs where !FileManager.default.fileExists(atPath: folder) {
      throw ToolError("The folder of packs \(folder) does not exist. Check the path.")
    }
    try await Session.with(database) { session in
      try await Opened.use(
        OpenedSubjects(), { try await inspect(try await subjects(session, $0)) }, close: { await $0.close() })
    }
  }

  private func subjects(_ session: Session, _ opened: OpenedSubjects) async throws -> InspectorSubjects {
    let connection = session.connection
    var subjects = InspectorSubjects(
      session.store,
      server: session.address.map { address in
        InspectorSubjects.Server(url: address.url, space: address.space) {
          await connection.isReachable() ?? false
        }
      })
    for folder in caches { subjects.caches.append(try opened.cache(folder)) }
    for file in places { subjects.places.append(try opened.places(file)) }
    for path in settings { subjects.settings.append(try opened.settings(path)) }
    subjects.packs = packs
    return subjects
  }

  private func inspect(_ subjects: InspectorSubjects) async throws {
    var logger = Logger(label: "bothy.inspector")
    logger.logLevel = .error
    let inspector = LoopbackServer(InspectorApp(subjects, logger: logger), port: port, logger: logger)
    let running = RunningService(host: "127.0.0.1", port: port, portOption: "--port", logger: logger)
    try await running.show(inspector, "Inspecting on", opens: open, output)
  }
}

/// The stores and caches that were opened besides the database, to close at the end.
private final class OpenedSubjects {
  private var closings: [() async throws -> Void] = []

  func cache(_ folder: String) throws -> InspectorSubjects.Cache {
    let (list, cache) = try CacheStoreOptions.existing(folder).existing()
    closings.append { try await cache.close() }
    let regions = try OfflineRegions(cache: cache, folder: URL(filePath: folder))
    closings.append { try regions.close() }
    return InspectorSubjects.Cache(folder: folder, cache: cache, limits: list.diskLimits, regions: regions)
  }

  func places(_ file: String) throws -> InspectorSubjects.PlaceDatabase {
    guard FileManager.default.fileExists(atPath: file) else {
      throw ToolError("The file of places \(file) does not exist. Make it with `bothy places load`.")
    }
    try PlacesFile.refuseOthers(file)
    let places = try PlaceStore(path: file)
    for repair in places.repairs { StandardStreams.note("bothy: \(repair)") }
    closings.append { try places.close() }
    return InspectorSubjects.PlaceDatabase(places, attributions: Attribution.of(file).sorted())
  }

  func settings(_ path: String) throws -> LocalStore {
    let store = try SettingsCommand.open(path)
    closings.append { try store.close() }
    return store
  }

  /// Closes all, the last opened first.
  func close() async {
    for closing in closings.reversed() {
      do { try await closing() } catch { StandardStreams.note("bothy: \(ErrorMessage(error).sentence)") }
    }
    closings = []
  }
}

/// The browser of the current user.
enum Browser {
  /// Opens an address. Prints a note if no program can open it or finds no browser.
  static func open(_ address: String) {
    #if canImport(Darwin)
      let program = "/usr/bin/open"
    #else
      let program = "/usr/bin/xdg-open"
    #endif
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = [address]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let failure = "No browser could be opened by \(program). Open the address yourself."
    process.terminationHandler = { if $0.terminationStatus != 0 { StandardStreams.note(failure) } }
    do { try process.run() } catch { StandardStreams.note(failure) }
  }
}
