import ArgumentParser
import BothyServer
import BothyStore
import Foundation

/// `bothy admin token`: edits the tokens file, which a running server reads again within a second of a change.
struct TokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Makes, shows and revokes tokens.",
    discussion: """
      The file holds SHA-256 digests; a token itself is printed once, when it is
      made. A server that was started with the file takes a new token, and closes the
      streams of one that was taken back, within a second.

      Example:  bothy admin token create tokens.json --principal ada --space home
                bothy admin token list tokens.json
                bothy admin token revoke tokens.json 5f1c2a90
      """,
    subcommands: [
      CreateTokenCommand.self, ListTokensCommand.self, RevokeTokenCommand.self, HashTokensCommand.self,
    ]
  )
}

struct CreateTokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Makes a token and prints it, once.",
    discussion: """
      The file is made when it is not there, for its owner's eyes alone. Records are
      shared with a group by the name group:NAME.

      Example:  bothy admin token create tokens.json --principal ada --space home \\
                  --expires 90d
                bothy admin token create tokens.json --principal backup --space '*'
                bothy admin token create tokens.json --principal bob --space club \\
                  --group staff
      """)

  @Argument(help: "The tokens file.", completion: .file()) var file: String
  @Option(
    name: .customLong("principal"), help: ArgumentHelp("The user that the token names.", valueName: "name"))
  var user: String
  @Option(
    parsing: .singleValue,
    help: ArgumentHelp("A space that it opens, or * for all; may be repeated.", valueName: "name"))
  var space: [String] = []
  @Option(
    parsing: .singleValue, help: ArgumentHelp("A group of the user; may be repeated.", valueName: "name")
  )
  var group: [String] = []
  @Option(help: ArgumentHelp("How long it is valid, such as 90d; by default for ever.", valueName: "time"))
  var expires: String?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard !space.isEmpty else { throw ValidationError("Give --space at least once; '*' opens all.") }
    if let expires, CLIClock.offset("+" + expires) == nil {
      throw ValidationError("--expires is a time such as 90d or 12h.")
    }
  }

  func run() async throws {
    let now = try CLIClock().now()
    let end = expires.flatMap { CLIClock.offset("+" + $0) }.map { now + $0 }
    let made = try TokenStore(file).edit(makes: true) {
      try $0.create(user: user, spaces: space, groups: group, expires: end)
    }
    try output.print {
      StandardStreams.note("Token \(made.id) of \(user); it is shown this once:")
      return made.token
    } json: { writer in
      writer.member("id", made.id)
      writer.member("token", made.token)
      writer.member("principal", user)
      writer.member("expires", end)
    }
  }
}

struct ListTokensCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Shows whose tokens there are, and never the tokens.",
    discussion: "Example:  bothy admin token list tokens.json")

  @Argument(help: "The tokens file.", completion: .file()) var file: String
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let entries = try TokenStore(file).read().entries
    let now = try CLIClock().now()
    try output.print {
      var table = TextTable(["id", "user", "spaces", "groups", "ends", ""])
      for entry in entries {
        let end = entry.expires.map { Timestamp(milliseconds: $0).rfc3339 + ($0 <= now ? " (over)" : "") }
        table.add([
          entry.id, entry.user, entry.spaces.joined(separator: ", "),
          entry.groups.joined(separator: ", "), end ?? "", entry.isPlain ? "in clear" : "",
        ])
      }
      return table.text(empty: "No tokens.")
    } json: { writer in
      writer.list("tokens", entries) { writer, entry in
        writer.member("id", entry.id)
        writer.member("principal", entry.user)
        writer.names("spaces", entry.spaces)
        writer.names("groups", entry.groups)
        writer.member("expires", entry.expires)
        writer.member("clear", entry.isPlain)
      }
    }
  }
}

struct RevokeTokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Revokes a token: it no longer opens the server.",
    discussion: "Example:  bothy admin token revoke tokens.json 5f1c2a90")

  @Argument(help: "The tokens file.", completion: .file()) var file: String
  @Argument(help: "The token's id, as list shows it.") var id: String
  @OptionGroup var output: OutputOptions

  func run() async throws {
    guard try TokenStore(file).edit({ $0.revoke(id: id) }) else {
      throw ToolError("\(file) has no token '\(id)'. `bothy admin token list \(file)` shows what there is.")
    }
    try output.print {
      "Took back token \(id)."
    } json: {
      $0.member("revoked", id)
    }
  }
}

struct HashTokensCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hash", abstract: "Replaces tokens that stand in clear in the file by their digests.",
    discussion: """
      The tokens go on opening what they opened; from then on they are known to those
      alone who have them.

      Example:  bothy admin token hash tokens.json
      """)

  @Argument(help: "The tokens file.", completion: .file()) var file: String
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let count = try TokenStore(file).edit { $0.hashPlainTokens() }
    try output.print {
      "Tokens replaced by their digests: \(count)."
    } json: {
      $0.member("hashed", count)
    }
  }
}

/// The tokens file on disk. One writer at a time replaces it completely by renaming, and only its owner can read it.
struct TokenStore {
  let path: String

  init(_ path: String) { self.path = path }

  func read() throws -> TokenFile {
    do { return try TokenFile(json: StandardStreams.read(path)) } catch let error as JSONError {
      throw ToolError(
        "The tokens file \(path) can't be used: \(error) `bothy admin token create` makes one in a new file.")
    }
  }

  /// Changes the file. Throws for a missing one, unless `makes` is true.
  func edit<Result>(makes: Bool = false, _ body: (inout TokenFile) throws -> Result) throws -> Result {
    guard makes || FileManager.default.fileExists(atPath: path) else {
      throw ToolError("The file \(path) does not exist. Check the path.")
    }
    return try PrivateFile.change(path) {
      var file = FileManager.default.fileExists(atPath: path) ? try read() : TokenFile()
      let result = try body(&file)
      return (result, Data(file.json))
    }
  }
}
