import ArgumentParser
import BothyStore
import BothySync
import Foundation

/// `SoakDriver device`: one device of `scripts/soak`. It writes at random and syncs automatically. Before and
/// after each step, it prints one JSON object on a line.
///
/// It reads commands from standard input, one word on each line. `go` begins the writes and `finish` ends them. `state`
/// prints the sync state, `dump` prints all contents, and `quit` ends the process. The end of the input ends it too.
struct SoakDeviceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device", abstract: "Writes at random until told to finish.")

  @OptionGroup var database: SoakDatabase
  @Option(help: "What this process's random numbers are made from.") var seed: UInt64
  @Option(help: "This device's number, from 0.") var number: Int
  @Option(help: "Numbers that this process writes are larger.") var start: Int64 = 0
  @Option(help: "The mean pause between two writes, in milliseconds.") var pause = 15
  @Option(help: "Leave these steps out: bank, families.") var skip: [String] = []
  @Flag(help: "Make the records that all devices share.") var seeds = false

  func run() async throws {
    let store = try database.open(
      timeout: .seconds(1), silenceLimit: .seconds(2), Self.syncConfiguration)
    let workload = SoakWorkload(store: store, device: number, number: start, seed: seed, skips: Set(skip))
    if seeds { try await workload.makeSharedRecords() }
    let isWriting = SoakSwitch()
    let writing = Task { [workload, pause] in
      var workload = workload
      await isWriting.wait()
      while isWriting.isOn {
        try await workload.step()
        let most = UInt64(pause) * 2
        try await Task.sleep(for: .milliseconds(workload.random.next() % (most + 1)))
      }
    }
    let syncing = Task { await store.run() }
    try SoakLog.say("ready")
    try await obey(store, isWriting, writing)
    isWriting.end()
    syncing.cancel()
    await syncing.value
    try store.store.close()
  }

  private func obey(_ store: SyncedStore, _ isWriting: SoakSwitch, _ writing: Task<Void, any Error>)
    async throws
  {
    for await command in Self.commands() {
      switch command {
      case "go": isWriting.begin()
      case "finish":
        isWriting.end()
        do { try await writing.value } catch { try SoakLog.say("broken", value: .string("\(error)")) }
        try SoakLog.say("finished")
      case "state": try await SoakLog.state(of: store)
      case "dump": try SoakLog.contents(of: store)
      case "quit": return
      default: throw SoakFailure("'\(command)' isn't a command of a device.")
      }
    }
  }

  /// Returns the lines of standard input, read on a separate thread.
  private static func commands() -> AsyncStream<String> {
    AsyncStream { continuation in
      Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
      }
    }
  }

  /// The configuration with short retry delays, so that a run is short.
  private static var syncConfiguration: SyncOptions {
    var configuration = SyncOptions()
    configuration.merging = MergePolicies(default: .fieldByField)
    configuration.backoff = Backoff(first: .milliseconds(50), limit: .milliseconds(500))
    configuration.batchSize = 20
    configuration.pageSize = 10
    return configuration
  }
}
