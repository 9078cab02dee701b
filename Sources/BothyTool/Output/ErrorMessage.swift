import BothyGeo
import BothyPacks
import BothySettings
import BothyStore
import BothySync
import Foundation

/// Converts any error to a message for people: what happened, and what to do about it.
struct ErrorMessage {
  let sentence: String

  init(_ error: any Error) {
    sentence =
      switch error {
      case let error as ToolError: error.message
      case let error as BothyError: Self.sentence(of: error)
      case let error as RemoteError: error.message
      case let error as CocoaError: Self.sentence(of: error)
      case is CancellationError: "The command was interrupted."
      default: Self.sentence(ofOther: error)
      }
  }

  /// Returns the text of an error of these modules, which is a sentence. Quotes any other.
  private static func sentence(ofOther error: any Error) -> String {
    if String(reflecting: type(of: error)).hasPrefix("Bothy") { return "\(error)" }
    return "The command ended for a reason without a message. Please report it with this text: \(error)"
  }

  /// Returns the error's message. Adds a remedy for a missing token or network.
  private static func sentence(of error: BothyError) -> String {
    let message = sentence(error.message, error.rejection)
      .replacing(SyncStop.waysOut, with: " " + SyncStop.otherServer("").remedy)
    switch error.code {
    case .signInRequired where (error.underlying as? BothyError)?.code != .signInRequired:
      return message + " " + authentication
    case .unreachable where error.underlying is RemoteError: return message + " " + network
    default: return message
    }
  }

  /// Returns a message with the problems of the rejection's fields that it doesn't have itself.
  static func sentence(_ message: String, _ rejection: Rejection?) -> String {
    let fields = rejection?.fields.map(\.message) ?? []
    return ([message] + fields.filter { !message.contains($0) }).filter { !$0.isEmpty }.joined(separator: " ")
  }

  static let authentication = "Give a valid token with --token, or store one with `bothy db create`."
  static let network = "Start the server or check --server; pending changes are kept."

  private static func sentence(of error: CocoaError) -> String {
    let path = (error.userInfo[NSFilePathErrorKey] as? String) ?? "the file"
    switch error.code {
    case .fileReadNoSuchFile, .fileNoSuchFile: return "\(path) does not exist. Check the path."
    case .fileReadNoPermission: return "\(path) may not be read. Check its permissions."
    case .fileWriteNoPermission: return "\(path) may not be written. Check the permissions of its folder."
    case .fileWriteOutOfSpace: return "The disk is full, so \(path) was not written. Free some space."
    default: return "\(path) can't be used: \(error.localizedDescription)"
    }
  }
}

/// The error of a command, as a sentence with a remedy. Ends the process with status 1.
struct ToolError: Error, CustomStringConvertible {
  let message: String

  init(_ message: String) { self.message = message }

  var description: String { message }
}
