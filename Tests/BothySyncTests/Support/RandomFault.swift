import BothyTesting

/// The fault of one request in a random history. Half of the requests pass.
extension FaultyRemote.Fault {
  static func random(using random: inout SeededGenerator) -> Self {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: .lostRequest
    case 1, 2: .lostAnswer
    case 3: .duplicated
    case 4: .status([500, 503, 429].randomElement(using: &random) ?? 500, retryAfter: 1)
    default: .none
    }
  }
}
