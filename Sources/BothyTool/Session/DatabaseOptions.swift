import ArgumentParser
import BothyHTTP
import BothySync
import Foundation

/// The server, space and token. Each overrides the value that the database file has stored.
struct RemoteOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The server's address, such as http://localhost:8080; a Kinto server's with 'kinto+' before it.",
      valueName: "url"))
  var server: String?

  @Option(
    help: ArgumentHelp(
      "The space on the server; needed with --server, unless the database knows its space.", valueName: "name"
    ))
  var space: String?

  @Option(
    help: ArgumentHelp(
      "The token that opens the space, for Kinto also USER:PASSWORD; BOTHY_TOKEN does the same.",
      valueName: "text"))
  var token: String?

  @Flag(
    help: "Allow a server address without TLS that is not this machine's; it is remembered with the address.")
  var allowHTTP = false

  func validate() throws {
    if let server { _ = try Self.checked(server) }
    if let space, space.isEmpty { throw ValidationError("--space needs a name.") }
  }

  /// Returns the address from these options and the stored one, or `nil` if no server is known.
  ///
  /// - Parameter synced: the space that the database was synced with.
  func address(over stored: RemoteAddress? = nil, synced: String? = nil) throws -> RemoteAddress? {
    guard let url = server ?? stored?.url else { return nil }
    guard let space = space ?? stored?.space ?? synced else {
      throw ValidationError("Which space of \(url)? Say it with --space NAME.")
    }
    let environment = ProcessInfo.processInfo.environment["BOTHY_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
    return RemoteAddress(
      url: try Self.checked(url), space: space,
      token: token ?? environment ?? stored?.token,
      allowsHTTP: allowHTTP || (server == nil && stored?.allowsHTTP ?? false))
  }

  private static func checked(_ text: String) throws -> String {
    guard let url = URL(string: text), let scheme = url.scheme?.lowercased(),
      ["http", "https", "kinto+http", "kinto+https"].contains(scheme),
      let host = url.host, !host.isEmpty
    else { throw ValidationError("'\(text)' isn't a server address. Write it like http://localhost:8080.") }
    guard url.user == nil, url.password == nil else {
      throw ValidationError("A server address holds no user and password. Give the secret with --token.")
    }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }
}

/// The database that a command uses.
struct DatabaseOptions: ParsableArguments {
  @Argument(help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
  var path: String

  @OptionGroup(title: "Server") var remote: RemoteOptions
}
