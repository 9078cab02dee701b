import BothyServer
import BothyStore

/// A new app: its files, and the token of its one user.
struct Starter {
  struct File {
    /// The path in the app's folder.
    var path: String
    var bytes: [UInt8]
    /// True if only the file's owner may read it.
    var isPrivate = false

    init(_ path: String, _ text: String) {
      self.path = path
      bytes = Array(text.utf8)
    }

    init(secret path: String, _ bytes: [UInt8]) {
      self.path = path
      self.bytes = bytes
      isPrivate = true
    }
  }

  let name: StarterName
  /// The files, sorted by path.
  let files: [File]
  /// The token, of which the files have only the digest.
  let token: String

  /// Makes the contents of all files, with a fresh random token.
  init(_ name: StarterName, bothy path: String) throws {
    self.name = name
    var tokens = TokenFile()
    token = try tokens.create(user: StarterServer.user, spaces: [StarterServer.space]).token
    files = [
      File(".gitignore", IgnoreTemplate.text),
      File("Package.swift", ManifestTemplate.text(name, bothy: path)),
      File("README.md", ReadmeTemplate.text(name, bothy: path)),
      File("Sources/\(name.module)/CommandLineApp.swift", AppTemplate.text(name)),
      File("Sources/\(name.module)/Item.swift", ItemTemplate.text),
      File("schema.json", ItemTemplate.schema.json.canonicalText + "\n"),
      File(secret: "tokens.json", tokens.json),
    ]
  }

  /// The next commands, in the app's folder: serve, build, run.
  func commands(program: String) -> [String] {
    [
      "\(program) \(StarterServer.arguments)", "swift build",
      "export BOTHY_TOKEN=\(token) && swift run --skip-build \(name.text) add \"Oil the lamp\"",
    ]
  }
}
