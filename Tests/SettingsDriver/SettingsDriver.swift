import BothySettings
import BothyStore
import Foundation

/// A program that keeps its settings in a file, which `scripts/test-settings` starts and kills.
///
///     SettingsDriver first FILE COUNT         so many threads ask for the settings at once; how each found them
///     SettingsDriver get FILE [2]             the settings, and what stands in the way; as the app's version 2
///     SettingsDriver set FILE KEY VALUE       one commit; when it was durable
///     SettingsDriver touch FILE
///     SettingsDriver nothing FILE             a commit that changes nothing
///     SettingsDriver nested FILE              a commit inside a commit
///     SettingsDriver pairs FILE COUNT         commits both sides of a pair; one line for each that is durable
///     SettingsDriver add FILE COUNT           adds one to `left`, so many times
///     SettingsDriver read FILE SECONDS        eight threads look for a pair that is not one
///     SettingsDriver quiet FILE COUNT         reads that so many readings of the settings cost after the first
///     SettingsDriver watch FILE               one line for each change, until standard input ends
///     SettingsDriver container NAME           where the shared folder of that name is
@main
struct SettingsDriver {
  static func main() async {
    let arguments = CommandLine.arguments
    do {
      guard arguments.count >= 3 else {
        throw Failure("see the comment at the top of SettingsDriver.swift")
      }
      let text = { (place: Int) in arguments.count > place ? arguments[place] : "" }
      let driver = Driver(path: arguments[2])
      switch arguments[1] {
      case "first": try await driver.first(count: Int(text(3)) ?? 16)
      case "get": try driver.get(version: Int(text(3)) ?? 1)
      case "set": try driver.set(text(3), text(4))
      case "touch": try driver.settings.republish()
      case "nothing": try driver.settings.update { $0.left += 0 }
      case "nested": try driver.nested()
      case "pairs": try driver.pairs(count: Int(text(3)) ?? 0)
      case "add": for _ in 0..<(Int(text(3)) ?? 0) { try driver.update { $0.left += 1 } }
      case "read": try await driver.read(seconds: Double(text(3)) ?? 1)
      case "quiet": try driver.quiet(count: Int(text(3)) ?? 0)
      case "watch": await driver.watch()
      case "container": say(["path": .string(try AppGroupFolder(appGroup: arguments[2]).folder)])
      default: throw Failure("unknown command \(arguments[1])")
      }
    } catch {
      FileHandle.standardError.write(Data("\(String(reflecting: error))\n".utf8))
      exit(1)
    }
  }
}

/// One line of JSON, written at once.
func say(_ members: [String: JSONValue]) {
  FileHandle.standardOutput.write(Data((JSONValue.object(members).canonicalText + "\n").utf8))
}

struct Failure: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

/// The wall clock, the same in all processes.
var now: JSONValue { .double(Date().timeIntervalSince1970) }
