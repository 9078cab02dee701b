public import BothyStore
import Foundation
import Synchronization

/// The operations of several processes and their times, in the form that Jepsen's checkers read.
///
/// Each operation is invoked. Later it is `ok`, has failed (`fail`), or has an unknown outcome (`info`). `write(to:)`
/// makes a file for elle-cli (github.com/ligurio/elle-cli), whose models are `bank`, `counter`, `set`, `rw-register`
/// and `list-append`. `checkBank`, `checkCounter` and `checkSet` run here, without Java. May be used from any task;
/// keeps everything in memory.
///
/// ```swift
/// let history = OperationHistory()
/// history.invoke("add", 500, process: 0).ok()
/// history.invoke("read", process: 1).ok(500)
/// let problems = history.checkCounter()  // none
/// ```
public final class OperationHistory: Sendable {
  /// One line of the history.
  package struct Event: Sendable, Hashable {
    /// The phase of an operation, in Jepsen's terms.
    package enum Kind: String, Sendable, Hashable {
      /// The operation begins.
      case invoke
      /// The operation succeeded.
      case ok
      /// The operation has certainly failed.
      case fail
      /// The outcome of the operation is unknown.
      case info
    }

    /// The phase: `invoke` for the beginning, another for the end.
    package var kind: Kind
    /// The operation's name in the model: `read`, `transfer`, `add`, `txn`.
    package var name: String
    /// The argument or the value that was read, in the form of the model. Null is left out of the file.
    package var value: JSONValue
    /// The number of the process. A process performs one operation at a time.
    package var process: Int
    /// Nanoseconds, by the history's clock.
    package var time: Int64
  }

  /// An operation that was invoked. Call `ok`, `fail` or `info` when it ends.
  ///
  /// Call one of them once: each call adds a line, with the name and the process of the beginning. An operation without
  /// an end counts as unknown.
  public struct Invocation: Sendable {
    let history: OperationHistory
    let event: Event

    /// Records success, with the value that was read, if any.
    ///
    /// - Parameter value: the result. `nil` keeps the argument of `invoke`, as the end of an `add` needs it.
    public func ok(_ value: JSONValue? = nil) {
      history.append(.ok, event.name, value ?? event.value, event.process)
    }
    /// Records a certain failure.
    ///
    /// It means that the operation had no effect, now or later. After a lost answer call `info()`.
    public func fail() { history.append(.fail, event.name, event.value, event.process) }
    /// Records an unknown outcome. Continue with another process number, as the models require.
    ///
    /// The checks then accept both: that the operation had an effect, and that it had none.
    public func info() { history.append(.info, event.name, event.value, event.process) }
  }

  private let now: @Sendable () -> Int64
  private let state = Mutex<[Event]>([])

  /// Creates an empty history.
  ///
  /// - Parameter now: the clock in nanoseconds; nil takes the machine's, since it was started. It is called under the
  ///   history's lock, so it must not use the history.
  public init(now: (@Sendable () -> Int64)? = nil) {
    self.now = now ?? { Int64(clamping: DispatchTime.now().uptimeNanoseconds) }
  }

  /// All lines so far, in the order of their times.
  package var events: [Event] { state.withLock { $0 } }

  /// Records that `process` begins an operation.
  ///
  /// - Parameters:
  ///   - name: the operation's name in the model. The checks here know `read` and `add`.
  ///   - value: the argument. Null is left out of the file.
  ///   - process: the number of the process, which must have ended its operation before. This isn't checked.
  public func invoke(_ name: String, _ value: JSONValue = .null, process: Int) -> Invocation {
    Invocation(history: self, event: append(.invoke, name, value, process))
  }

  /// Records a read or a write that `body` performs: `ok` with its result, `fail` if it throws.
  ///
  /// Return `nil` from a write, which keeps `value` as that of its end. Every error counts as a certain failure. An
  /// operation that may have reached the server in spite of its error needs `invoke` and `info()`.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`, after the failure is recorded.
  @discardableResult
  public func record(
    _ name: String, _ value: JSONValue = .null, process: Int, _ body: () throws -> JSONValue?
  ) rethrows -> JSONValue? {
    let invocation = invoke(name, value, process: process)
    do {
      let result = try body()
      invocation.ok(result)
      return result
    } catch {
      invocation.fail()
      throw error
    }
  }

  /// Records a read or a write that suspends, like `record(_:_:process:_:)`.
  ///
  /// It runs on the caller's actor. A cancellation that `body` throws counts as a certain failure too.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`, after the failure is recorded.
  @discardableResult
  public func record(
    _ name: String, _ value: JSONValue = .null, process: Int,
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> JSONValue?
  ) async rethrows -> JSONValue? {
    let invocation = invoke(name, value, process: process)
    do {
      let result = try await body()
      invocation.ok(result)
      return result
    } catch {
      invocation.fail()
      throw error
    }
  }

  @discardableResult
  private func append(_ kind: Event.Kind, _ name: String, _ value: JSONValue, _ process: Int) -> Event {
    let now = now
    return state.withLock { events in
      // Read inside the lock, so that the order of the lines is that of their times.
      let event = Event(kind: kind, name: name, value: value, process: process, time: now())
      events.append(event)
      return event
    }
  }

  /// The history as one JSON array, one event a line.
  ///
  /// Events are in the order of their times and have `index`, `process`, `time`, `type` and `f`, and a `value` unless
  /// it is null. Each access makes the text of the whole history.
  public var json: String {
    let lines = events.enumerated().map { index, event in
      var members: [String: JSONValue] = [
        "type": .string(event.kind.rawValue), "f": .string(event.name), "process": .int(Int64(event.process)),
        "time": .int(event.time), "index": .int(Int64(index)),
      ]
      if !event.value.isNull { members["value"] = event.value }
      return JSONValue.object(members).canonicalText
    }
    return "[" + lines.joined(separator: ",\n") + "]\n"
  }

  /// Writes `json` to a file. Throws when it can't be written.
  ///
  /// A file at the path is overwritten. The folder must exist. Blocks until the file is written.
  ///
  /// - Throws: Foundation's error of the file system.
  public func write(to path: String) throws {
    try Data(json.utf8).write(to: URL(fileURLWithPath: path))
  }
}
