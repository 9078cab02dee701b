/// The server of a new app: its address on this machine, its one user and that user's space.
enum StarterServer {
  static let address = "http://localhost:8080"
  static let user = "me"
  static let space = "home"
  static let arguments =
    "serve --port 8080 --database server.sqlite --schema schema.json --tokens tokens.json"
  /// The arguments that make another token of the user.
  static let tokenArguments = "admin token create tokens.json --principal \(user) --space \(space)"
}
