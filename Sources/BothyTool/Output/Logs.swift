public import ArgumentParser
import Foundation
public import Logging

/// The output of the modules' logs: standard error, from a level on.
enum Logs {
  /// Sends all logs to standard error. Call it once, first. `BOTHY_LOG` sets the level, by default `warning`.
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
