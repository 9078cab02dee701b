import BothyStore

/// Small checkers for the simple models. Each returns the problems as sentences, or an empty array.
extension OperationHistory {
  /// Checks the bank: every `read`, an object of balances by account, adds up to `total` and has `accounts` accounts.
  ///
  /// Only reads with the outcome `ok` are checked, each with one problem at most. A balance that isn't a whole number
  /// counts as 0. Without reads the array is empty.
  public func checkBank(total: Int64, accounts: Int) -> [String] {
    reads.compactMap { read in
      let balances = (read.value.objectValue ?? [:]).mapValues { $0.intValue ?? 0 }
      let sum = balances.values.reduce(0, +)
      guard balances.count == accounts else {
        return "Process \(read.process) read \(balances.count) accounts of \(accounts) at \(read.time)."
      }
      return sum == total ? nil : "Process \(read.process) read \(sum) in all, not \(total), at \(read.time)."
    }
  }

  /// Checks the counter: the last `read` is at least the sum of certain `add`s, and at most that of all possible ones.
  ///
  /// Read it after all adds have ended, because the order of times isn't considered. Adds without a certain outcome
  /// must not be negative. A history without an `ok` read of a number has one problem.
  public func checkCounter() -> [String] {
    guard let last = reads.last?.value.intValue else { return ["The history has no read of a number."] }
    let certain = sum(of: .ok)
    let failed = sum(of: .fail)
    let most = sum(of: .invoke) - failed
    return (certain...max(certain, most)).contains(last)
      ? [] : ["The counter is \(last); \(certain) were added for certain, \(most) at most."]
  }

  /// Checks the set: the last `read`, an array, has every element whose `add` is certain.
  ///
  /// It must not have an element that no process tried to add, and none twice. An element whose `add` failed may be
  /// there. Read it after all adds have ended. The problems are sorted as texts, one for each element. Repeated
  /// elements have one problem together.
  public func checkSet() -> [String] {
    guard let last = reads.last?.value.arrayValue else { return ["The history has no read of an array."] }
    let found = Set(last)
    let certain = Set(adds(.ok).map(\.value))
    let tried = Set(adds(.invoke).map(\.value))
    var problems: [String] = []
    for lost in certain.subtracting(found) { problems.append("\(lost.canonicalText) was added and is lost.") }
    for stray in found.subtracting(tried) { problems.append("\(stray.canonicalText) was never added.") }
    if found.count < last.count { problems.append("\(last.count - found.count) elements are there twice.") }
    return problems.sorted()
  }

  private var reads: [Event] { events.filter { $0.kind == .ok && $0.name == "read" } }

  private func adds(_ kind: Event.Kind) -> [Event] { events.filter { $0.kind == kind && $0.name == "add" } }

  private func sum(of kind: Event.Kind) -> Int64 { adds(kind).reduce(0) { $0 + ($1.value.intValue ?? 0) } }
}
