import ArgumentParser
import BothyPacks
import Foundation

/// `bothy pack`: builds, installs and reads packs of read-only records that ship with an app.
struct PackCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pack",
    abstract: "Builds, reads, checks and installs packs: read-only records that ship with an app.",
    discussion: """
      A pack is a folder: manifest.json, index.sqlite, and a file for each value of
      the column it is split by. Where a PACK is asked for, a folder that packs are
      installed in will do: its newest version is meant.

      Example:  bothy pack build times.pack City=cities.csv Time=times.csv \\
                  --shard-by city
                bothy pack query times.pack Time --where "city = 'Kuwait City'" \\
                  --limit 6
                bothy pack install packs/times times.pack
      """,
    subcommands: [
      PackBuildCommand.self, PackInfoCommand.self, PackQueryCommand.self, PackVerifyCommand.self,
      PackDiffCommand.self, PackInstallCommand.self,
    ])
}

/// The pack of a command: a folder with a manifest, or one in which packs are installed.
struct PackArgument: ParsableArguments {
  @Argument(help: ArgumentHelp("The folder of the pack.", valueName: "pack"), completion: .directory)
  var folder: String

  func open(_ options: Pack.Options = Pack.Options()) throws -> Pack { try Self.open(folder, options) }

  static func open(_ folder: String, _ options: Pack.Options = Pack.Options()) throws -> Pack {
    try Pack.newest(in: folder, options: options)
  }
}
