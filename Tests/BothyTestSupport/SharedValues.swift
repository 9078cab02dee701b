// Values that several tasks of a test share.

import Synchronization

/// A value that several tasks of a test share.
package final class Locked<Value: Sendable>: Sendable {
  private let state: Mutex<Value>

  package init(_ value: Value) { state = Mutex(value) }

  package var value: Value {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  /// Changes the value by `body`, and returns the result of that.
  @discardableResult
  package func change<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try state.withLock { try body(&$0) }
  }
}

/// The values that arrived, in order.
package final class Received<Value: Sendable>: Sendable {
  private let list = Mutex<[Value]>([])

  package init() {}

  package var values: [Value] { list.withLock { $0 } }

  package func append(_ value: Value) { list.withLock { $0.append(value) } }
}

/// Counts calls from any task.
package final class Calls: Sendable {
  private let total = Mutex(0)

  package init() {}

  package var count: Int { total.withLock { $0 } }

  /// Counts a call, and returns its number, from 1.
  @discardableResult
  package func add() -> Int {
    total.withLock { total in
      total += 1
      return total
    }
  }
}
