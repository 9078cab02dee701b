import ArgumentParser
import BothyStore
import BothySync

/// `bothy db share`: allows or forbids users and lists to see a record.
struct ShareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "share",
    abstract: "Shares a record with users and lists; the server is told at the next sync.",
    discussion: """
      Without --with and --list it shows the record's audience. The type's
      permissions on the server say what sharing opens.

      Example:  bothy db share notes.bothy Note 0197f3c2-… --with bob cid \\
                  --list friends
                bothy db share notes.bothy Note 0197f3c2-… --with bob --remove
      """)

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The type of the record.") var type: String
  @Argument(help: "The id of the record.") var id: String
  @Option(parsing: .upToNextOption, help: ArgumentHelp("Names of users.", valueName: "user"))
  var with: [String] = []
  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Lists, by id or name: see bothy lists show.", valueName: "list"))
  var list: [String] = []
  @Flag(help: "Shut them out instead.") var remove = false
  @Option(help: ArgumentHelp("Where the write is made first.", valueName: "policy")) var save: WritePolicy?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if remove && with.isEmpty && list.isEmpty { throw ValidationError("--remove needs --with or --list.") }
    guard (with + list).allSatisfy({ !$0.isEmpty }) else { throw ValidationError("A name is not empty.") }
  }

  func run() async throws {
    try await Session.with(database) { session in
      let record = try session.target(type, id, save, isHere: true)
      let named = Audience(users: Set(with), lists: Set(try await session.listIDs(list)))
      if !named.isEmpty {
        let options = RequestOptions(writePolicy: save)
        let receipt =
          remove
          ? try await session.store.sharing.unshare(record, from: named, options: options)
          : try await session.store.sharing.share(record, with: named, options: options)
        let problem = try await session.problem(with: receipt, waits: save == .localThenRemote)
        if let problem { throw problem }
      }
      let sharing = try session.store.audience(of: record)
      let state = try session.store.state(of: record).name
      try output.print {
        let names = sharing.users.sorted() + sharing.lists.sorted().map { "list \($0)" }
        return
          "\(record) is shared with \(names.isEmpty ? "no user" : names.joined(separator: ", ")) (\(state))."
      } json: { writer in
        writer.members(record)
        writer.member("state", state)
        writer.object("sharing") { writer in
          writer.names("principals", sharing.users.sorted())
          writer.names("lists", sharing.lists.sorted())
        }
      }
    }
  }
}

extension Session {
  /// Returns the ids of lists given by id or name. A name of no known list counts as an id.
  fileprivate func listIDs(_ names: [String]) async throws -> [String] {
    guard !names.isEmpty else { return [] }
    let known = try await store.sharing.lists(options: RequestOptions(readPolicy: .local))
    return try names.map { try known.list($0)?.id ?? $0 }
  }
}

extension [UserList] {
  /// Returns the list with this id, or else the one with this name. Throws if several lists have the name.
  func list(_ name: String) throws -> UserList? {
    if let list = first(where: { $0.id == name }) { return list }
    return try list(called: name)
  }

  /// Returns the list with this name. Throws if several lists have it.
  func list(called name: String) throws -> UserList? {
    let named = filter { $0.name == name }
    guard named.count <= 1 else {
      throw ToolError("Several lists are called '\(name)'. Name one by its id: bothy lists show.")
    }
    return named.first
  }
}
