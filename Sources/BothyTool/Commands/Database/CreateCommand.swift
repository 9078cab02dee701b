import ArgumentParser
import BothyHTTP
import BothyStore
import BothySync

/// `bothy db create`: creates a database file, or migrates an existing one to a newer schema.
struct CreateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Makes a database file with a schema, or brings an existing one to it.",
    discussion: """
      The schema is a JSON file:
        {"version":1,"types":[{"name":"Note","fields":[
          {"name":"title","type":"string"},
          {"name":"due","type":"date","optional":true,"indexed":true}]}]}
      Types of fields: bool, int, double, string, date, uuid, data, coordinate,
      json, blob, reference, references. Server, space and token are kept in the
      file, which only its owner may read.

      Example:  bothy db create notes.bothy --schema schema.json
                bothy db create notes.bothy --schema schema.json --space home \\
                  --server http://localhost:8080
      """)

  @OptionGroup var database: DatabaseOptions
  @Option(
    help: ArgumentHelp("The schema, a JSON file, or - for standard input.", valueName: "file"),
    completion: .file())
  var schema: String
  @Option(
    help: ArgumentHelp("Make pending again what `bothy db sign-out --export` wrote.", valueName: "file"),
    completion: .file())
  var pending: String?
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let schema = try StoreSchema(json: StandardStreams.read(schema))
    let clock = try CLIClock()
    let isNew = try PrivateFile.create(at: database.path)
    do {
      if let pending,
        try !SyncedStore.restorePending(from: pending, into: database.path, schema: schema)
      {
        StandardStreams.note(
          "\(database.path) has taken \(pending) in before; its changes aren't made again.")
      }
      let store = try SyncedStore(
        at: database.path, schema: schema, remote: NoRemote(), clock: SyncClock(now: { clock.now() }))
      let stored = isNew ? nil : try RemoteAddress.stored(at: database.path)
      let address = try database.remote.address(
        over: stored, synced: isNew ? nil : SyncedStore.syncedSpace(at: database.path))
      if let address, address != stored { try store.remember(address) }
      let device = store.device
      try store.store.close()
      try report(schema, address, device: device, isNew: isNew)
    } catch {
      if isNew { PrivateFile.remove(database.path) }
      throw error
    }
  }

  private func report(_ schema: StoreSchema, _ address: RemoteAddress?, device: String, isNew: Bool) throws {
    try output.print {
      let types = schema.types.map(\.name).joined(separator: ", ")
      let server = address.map { ", synced with \($0)" } ?? ", with no server"
      return "\(isNew ? "Made" : "Updated") \(database.path): \(types)\(server)."
    } json: { writer in
      writer.member("database", database.path)
      writer.member("created", isNew)
      writer.member("device", device)
      writer.member("schemaVersion", schema.version)
      writer.names("types", schema.types.map(\.name))
      writer.member("server", address?.url)
      writer.member("space", address?.space)
    }
  }
}
