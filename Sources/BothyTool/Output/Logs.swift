public import ArgumentParser
import Foundation
public import Logging

/// Where the modules' logs go: standard error, from a level on.
enum Logs {
  /// Sends all logs to standard error; called once, first. `BOTHY_LOG` names the level, else `warning`.
  static func start() {
    let level =
      ProcessInfo.processInfo.environment["BOTHY_LOG"].flatMap(Logger.Level.init(rawValue:)) ?? .warning
    LoggingSystem.bootstrap { label in
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = level
      return handler
    }
  }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
