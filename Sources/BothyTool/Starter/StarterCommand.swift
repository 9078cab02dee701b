import ArgumentParser
import BothyStore
import Foundation

/// `bothy new`: makes a folder with an app, its schema and the token of its server.
struct StarterCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "new",
    abstract: "Makes a folder with an app, a schema and a token to begin with.",
    discussion: """
      The folder gets a Swift package with one type of record and a command line app
      that adds, lists, syncs and watches. Beside it are the schema and the tokens
      for `bothy serve`, a .gitignore and a README. The token itself is printed
      once. An existing folder must be empty.

      Example:  bothy new notes
                bothy new notes --bothy ~/checkouts/bothy
      """)

  @Argument(help: "The app's name: letters, digits, - and _, with a letter first.") var name: String
  @Option(
    help: ArgumentHelp(
      "The checkout of Bothy that the app uses; by default bothy, beside the new folder.",
      valueName: "folder"),
    completion: .directory)
  var bothy: String?
  @OptionGroup var output: OutputOptions

  func validate() throws { _ = try checkedName() }

  private func checkedName() throws -> StarterName {
    guard let checked = StarterName(name) else {
      throw ValidationError("'\(name)' can't be the name of an app. \(StarterName.rule)")
    }
    // SwiftPM knows packages by their folders, so the app and the checkout need different names.
    let taken = ["bothy", StarterCheckout(bothy).folder]
    guard !taken.contains(where: { $0.lowercased() == name.lowercased() }) else {
      throw ValidationError("'\(name)' is the name of the checkout of Bothy. Choose another name.")
    }
    return checked
  }

  func run() async throws {
    let name = try checkedName()
    let checkout = StarterCheckout(bothy)
    guard bothy == nil || checkout.exists else {
      throw ToolError(
        "\(checkout.path) has no Package.swift. Give --bothy the folder of a checkout of Bothy.")
    }
    let folder = StarterFolder(path: name.text)
    try folder.checkIsFree()
    let starter = try Starter(name, bothy: checkout.fromApp)
    try folder.write(starter.files)
    try report(starter)
    if !checkout.exists {
      StandardStreams.note(
        "The app looks for Bothy in \(checkout.path), which is missing. Put a checkout there before you build, "
          + "or change the path in \(name.text)/Package.swift.")
    }
  }

  private func report(_ starter: Starter) throws {
    let folder = starter.name.text
    let paths = starter.files.map { "\(folder)/\($0.path)" }
    let commands = starter.commands(program: Self.program)
    try output.print {
      """
      Made an app in \(folder):
        \(paths.joined(separator: "\n  "))

      The token of '\(StarterServer.user)', which is shown only now, is in the last of the next commands.
      Run them in the folder \(folder), the first in a terminal of its own:
        \(commands.joined(separator: "\n  "))
      """
    } json: { writer in
      writer.member("folder", folder)
      writer.member("module", starter.name.module)
      writer.names("files", starter.files.map(\.path))
      writer.member("principal", StarterServer.user)
      writer.member("space", StarterServer.space)
      writer.member("token", starter.token)
      writer.names("commands", commands)
    }
  }

  /// The tool as a shell finds it from any folder.
  private static var program: String {
    guard let called = CommandLine.arguments.first, called.contains("/") else { return "bothy" }
    let path = URL(filePath: called).standardizedFileURL.path(percentEncoded: false)
    return path.contains(" ") ? "'\(path)'" : path
  }
}
