import ArgumentParser
import BothyStore
import BothySync

/// `bothy lists`: manages the user's own lists of users, which are on the server, and leaves those of others.
struct ListsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lists",
    abstract: "Shows, saves, deletes and leaves lists of users that records can be shared with.",
    discussion: """
      Lists are written on the server only: without it, saving, deleting and leaving
      fail and nothing is queued.

      Example:  bothy lists save notes.bothy friends --members bob cid
                bothy db share notes.bothy Note 0197f3c2-… --list friends
      """,
    subcommands: [
      ShowListsCommand.self, SaveListCommand.self, DeleteListCommand.self, JoinedListsCommand.self,
      LeaveListCommand.self,
    ])
}

struct ShowListsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "The lists, from the server where it can be reached.",
    discussion: "Example:  bothy lists show notes.bothy")

  @OptionGroup var database: DatabaseOptions
  @Option(help: ArgumentHelp("Where the answer comes from.", valueName: "policy")) var fetch: ReadPolicy?
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      let policy = fetch ?? (session.address == nil ? .local : .remoteElseLocal)
      if policy == .remote { try session.requireServer() }
      let lists = try await session.store.sharing.lists(options: RequestOptions(readPolicy: policy))
      try output.print {
        var table = TextTable(["id", "name", "members"], whole: ["id", "members"])
        for list in lists { table.add([list.id, list.name, list.members.joined(separator: ", ")]) }
        return table.text(empty: "No lists.")
      } json: { writer in
        writer.list("lists", lists) { $1.writeMembers(to: &$0) }
      }
    }
  }
}

struct SaveListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "save", abstract: "Makes a list, or replaces the members of the one with that id or name.",
    discussion: "Example:  bothy lists save notes.bothy friends --members bob cid")

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The list's name.") var name: String
  @Option(help: ArgumentHelp("The list's id; by default found by the name, else new.", valueName: "id"))
  var id: String?
  @Option(parsing: .upToNextOption, help: ArgumentHelp("Names of users.", valueName: "user"))
  var members: [String] = []
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      try session.requireServer()
      let known = try await session.lists()
      let earlier = try id == nil ? known.list(called: name) : known.first { $0.id == id }
      let list: UserList
      if var found = earlier {
        found.name = name
        found.members = members
        list = try await session.store.sharing.update(found)
      } else {
        list = try await session.store.sharing.create(
          UserList(id: id ?? UUIDv7.make(), name: name, members: members))
      }
      try output.print {
        "The list \(list.name) (\(list.id)) has \(list.members.count) members."
      } json: { writer in
        list.writeMembers(to: &writer)
      }
    }
  }
}

struct DeleteListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes a list; its members no longer see what was shared with it.",
    discussion: "Example:  bothy lists delete notes.bothy friends")

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The list, by id or name: see bothy lists show.") var list: String
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      try session.requireServer()
      guard let list = try await session.lists().list(list) else {
        throw ToolError("The list '\(list)' does not exist. Show those there are: bothy lists show.")
      }
      try await session.store.sharing.delete(list)
      try output.print {
        "The list \(list.name) is deleted."
      } json: { writer in
        writer.member("id", list.id)
        writer.member("deleted", true)
      }
    }
  }
}

struct JoinedListsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "joined", abstract: "The lists that name the user, with the users who made them.",
    discussion: """
      A list's name and its other members are its owner's alone, so these have ids.
      Lists that name a group of the user aren't among them.

      Example:  bothy lists joined notes.bothy
      """)

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      try session.requireServer()
      let lists = try await session.store.sharing.joinedLists()
      try output.print {
        var table = TextTable(["id", "owner"], whole: ["id", "owner"])
        for (list, owner) in lists { table.add([list, owner ?? ""]) }
        return table.text(empty: "No list names you.")
      } json: { writer in
        writer.list("lists", lists) { writer, list in
          writer.member("id", list.list)
          if let owner = list.owner { writer.member("owner", owner) }
        }
      }
    }
  }
}

struct LeaveListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "leave",
    abstract: "Takes the user out of a list; the next sync takes what it showed.",
    discussion: """
      A list that doesn't name the user counts as left. Its owner may name the user
      again. Sync once before, so that the file knows its user.

      Example:  bothy lists leave notes.bothy 0197f3c2-…
      """)

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The list's id: see bothy lists joined.") var list: String
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      try session.requireServer()
      try await session.store.sharing.leave(list)
      try output.print {
        "The list \(list) doesn't name you."
      } json: { writer in
        writer.member("id", list)
        writer.member("left", true)
      }
    }
  }
}

extension Session {
  /// Returns the lists on the server.
  fileprivate func lists() async throws -> [UserList] {
    do {
      return try await store.sharing.lists(options: RequestOptions(readPolicy: .remote))
    } catch let error as BothyError where error.code == .unreachable {
      throw BothyError(
        .requiresNetwork,
        "Lists are written on the server only, and it can't be reached. Nothing was changed.",
        underlying: error)
    }
  }
}
